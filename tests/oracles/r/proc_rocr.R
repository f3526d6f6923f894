# What pROC and ROCR say of data made by formula here, ties included; all scores are multiples of 1/32, so exact.
# Run: Rscript tests/oracles/r/proc_rocr.R > tests/oracles/r/proc_rocr.json
suppressMessages({library(pROC); library(ROCR)})

number <- function(x) ifelse(is.na(x), "null", sprintf("%.17g", x))
list_of <- function(x) paste0("[", paste(x, collapse = ","), "]")
numbers <- function(x) list_of(number(x))
words <- function(x) list_of(paste0('"', x, '"'))
object <- function(...) {
  fields <- c(...)
  paste0("{", paste0('"', names(fields), '":', fields, collapse = ",\n"), "}")
}

i <- 1:60

# two classes: made(k, lift) has few distinct scores and so many ties
truth <- (i * 7) %% 10 < 4
made <- function(step, levels, lift) ((i * step) %% levels + lift * truth) / 32
binary <- function(scores) {
  curve <- roc(truth, scores, levels = c(FALSE, TRUE), direction = "<", quiet = TRUE)
  part <- function(limit, correct) {
    as.numeric(suppressWarnings(auc(curve, partial.auc = c(1, 1 - limit), partial.auc.correct = correct)))
  }
  ranked <- prediction(scores, truth)
  points <- performance(ranked, "prec", "rec")
  object(
    scores = numbers(scores),
    auc = number(as.numeric(auc(curve))),
    delong_variance = number(var(curve, method = "delong")),
    partial_auc_0.25 = number(part(0.25, FALSE)),
    partial_auc_0.25_standardized = number(part(0.25, TRUE)),
    partial_auc_0.7 = number(part(0.7, FALSE)),
    partial_auc_0.7_standardized = number(part(0.7, TRUE)),
    rocr_auc = number(performance(ranked, "auc")@y.values[[1]]),
    rocr_auc_0.25 = number(performance(ranked, "auc", fpr.stop = 0.25)@y.values[[1]]),
    rocr_aucpr = number(performance(ranked, "aucpr")@y.values[[1]]),
    recall = numbers(points@x.values[[1]]),
    precision = numbers(points@y.values[[1]])
  )
}

# classes in an order, and a decision value that follows it only in part
names <- c("low", "middle", "high", "top")
class <- names[1 + (i * i + i %/% 7) %% 4]
value <- ((i * 11) %% 9 + c(0, 5, 3, 8)[match(class, names)]) / 32
vector_form <- function(levels, direction) {
  as.numeric(auc(multiclass.roc(factor(class, levels), value, direction = direction, quiet = TRUE)))
}
scores <- sapply(seq_along(names), function(k) ((i * (5 + 11 * k)) %% 13 + 4 * (class == names[k])) / 32)
colnames(scores) <- names
matrix_form <- function(rows) {
  found <- suppressWarnings(multiclass.roc(factor(class[rows], names), scores[rows, ], quiet = TRUE))
  as.numeric(found$auc)
}
rows_without_top <- which(class != "top")

# six instances whose negatives stand with positives or below them all: one curve by every rule
few <- prediction(c(29, 26, 26, 13, 10, 6) / 32, c(TRUE, TRUE, FALSE, TRUE, FALSE, FALSE))

cat(object(
  about = '"made by proc_rocr.R"',
  versions = object(
    R = paste0('"', getRversion(), '"'),
    pROC = paste0('"', packageVersion("pROC"), '"'),
    ROCR = paste0('"', packageVersion("ROCR"), '"')
  ),
  truth = list_of(ifelse(truth, "true", "false")),
  binary = list_of(c(
    binary(made(37, 16, 6)), # some ties
    binary(made(37, 5, 2)), # nearly all tied
    binary(made(23, 59, 9)), # hardly any
    binary(made(13, 17, -7)) # worse than chance
  )),
  few_aucpr = number(performance(few, "aucpr")@y.values[[1]]),
  classes = words(names),
  class = words(class),
  value = numbers(value),
  scores = list_of(apply(scores, 1, numbers)),
  vector_ascending = number(vector_form(names, "<")),
  vector_descending = number(vector_form(names, ">")),
  vector_auto = number(vector_form(names, "auto")),
  vector_other_order_ascending = number(vector_form(names[c(2, 1, 3, 4)], "<")),
  matrix = number(matrix_form(i)),
  matrix_without_top = number(matrix_form(rows_without_top))
), "\n", sep = "")
