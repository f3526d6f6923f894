"""Drawings as SVG that pages and reports of the command line share; pure."""
