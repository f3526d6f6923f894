"""What is declared of metrics: keys, parameters, options, presets, requirements and recipes."""
