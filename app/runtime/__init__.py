"""What every process of the service needs: its data folder, logging, telemetry, periodic jobs, a health server."""
