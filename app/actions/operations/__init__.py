"""Operations: backup, restore, diagnosis, readiness and housekeeping."""
