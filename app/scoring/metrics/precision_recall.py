"""Average precision and other areas under the precision-recall curve."""
