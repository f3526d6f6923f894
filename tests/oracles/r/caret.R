# Values of caret's confusionMatrix, for tests/scoring/test_against_caret.py.
# Rscript tests/oracles/r/caret.R > tests/oracles/r/caret.json
# R 4.2.2, caret 6.0-93, e1071 1.7-13, jsonlite 1.8.4. The data follow a formula: no random numbers.
suppressPackageStartupMessages(library(caret))
suppressPackageStartupMessages(library(jsonlite))

# instance i of n: gold and predicted class, numbers from 1 to m
made <- function(n, m, step, every, last) {
  i <- seq_len(n)
  gold <- (i * i + i %/% 3) %% m + 1
  predicted <- ifelse(i %% every == 0, (gold + i * step) %% m + 1, gold)
  list(gold = pmin(gold, last), predicted = predicted)
}

values <- function(numbers) lapply(as.list(numbers), function(x) if (is.finite(x)) x else NA)

one <- function(name, levels, gold, predicted, positive = NULL, prevalence = NULL) {
  table <- confusionMatrix(
    factor(levels[predicted], levels = levels), factor(levels[gold], levels = levels),
    positive = positive, prevalence = prevalence
  )
  by_class <- table$byClass
  if (is.null(dim(by_class))) {
    by_class <- setNames(list(values(by_class)), table$positive)
  } else {
    rows <- lapply(seq_len(nrow(by_class)), function(row) values(by_class[row, ]))
    by_class <- setNames(rows, levels)
  }
  list(
    name = name, classes = levels, gold = levels[gold], predicted = levels[predicted],
    positive = positive, prevalence = if (is.null(prevalence)) NULL else prevalence[[1]],
    overall = values(table$overall), by_class = by_class
  )
}

two <- c("yes", "no")
three <- c("a", "b", "c")
five <- c("v", "w", "x", "y", "z")
small <- made(60, 2, 1, 4, 2)
middle <- made(120, 3, 2, 3, 3)
large <- made(900, 5, 1, 5, 5)
gone <- made(80, 3, 1, 4, 2)
cases <- list(
  one("binary, first class positive", two, small$gold, small$predicted, positive = "yes"),
  one("binary, second class positive", two, small$gold, small$predicted, positive = "no"),
  one("binary, prevalence from outside", two, small$gold, small$predicted, positive = "yes", prevalence = 0.05),
  one("binary, as many errors of either kind", two, rep(c(1, 1, 2, 2), 5), rep(c(1, 2, 1, 2), 5), positive = "yes"),
  one("binary, nothing wrong", two, rep(1:2, 8), rep(1:2, 8), positive = "yes"),
  one("binary, nothing right", two, rep(1:2, 8), rep(2:1, 8), positive = "yes"),
  one("binary, one class in gold", two, rep(1, 12), c(rep(1, 9), rep(2, 3)), positive = "yes"),
  one("binary, positive class absent from gold", two, rep(2, 12), c(rep(1, 3), rep(2, 9)), positive = "yes"),
  one("binary, one class on both sides", two, rep(1, 7), rep(1, 7), positive = "yes"),
  one("three classes", three, middle$gold, middle$predicted),
  one("three classes, prevalence from outside", three, middle$gold, middle$predicted,
    prevalence = setNames(rep(0.2, 3), three)),
  one("three classes, one absent from gold", three, gone$gold, gone$predicted),
  one("three classes, one absent from both", three, rep(1:2, 10), rep(c(1, 2, 2, 2), 5)),
  one("three classes, one never predicted", three, rep(1:3, 10), rep(c(1, 2, 2, 2, 1, 1), 5)),
  one("five classes", five, large$gold, large$predicted),
  one("five classes, worse than always saying one", five, large$gold, large$predicted %% 5 + 1)
)
cat(toJSON(cases, digits = I(15), auto_unbox = TRUE, na = "null", null = "null", pretty = FALSE), "\n", sep = "")
