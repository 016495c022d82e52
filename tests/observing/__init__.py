"""What the site tells of itself: metrics, logs, traces, the operator's page."""
