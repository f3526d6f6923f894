"""The lists that caret's confusionMatrix prints, and the tests among them."""
