"""What every process of the service needs to run: its data folder, log lines, telemetry, periodic jobs, health."""
