"""The administrator's desk: accounts, challenges, workers, invitations to the site, and what the doctor says."""
