"""Teams: who founds, joins, leaves and leads them, and how two become one."""
