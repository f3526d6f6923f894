"""The area under the ROC curve: of a label, of several, of pairs of classes."""
