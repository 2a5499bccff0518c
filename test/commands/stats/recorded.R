# Computes the statistics of rewards.csv without rollcall: `Rscript test/commands/stats/recorded.R > test/commands/stats/recorded.json`.
rows <- read.csv("test/commands/stats/rewards.csv")
clustered <- function(x, group) {
  groups <- length(unique(group))
  residuals <- tapply(x - mean(x), group, sum)
  error <- sqrt(groups / (groups - 1) * sum(residuals^2)) / length(x)
  mean(x) + c(-1, 1) * qt(0.975, groups - 1) * error
}
passAt <- function(k) {
  estimates <- tapply(rows$reward, rows$group, function(x) {
    n <- length(x)
    if (n < k) NA else 1 - choose(n - sum(x >= 1), k) / choose(n, k)
  })
  mean(estimates, na.rm = TRUE)
}
populationDeviation <- function(x) sqrt(mean((x - mean(x))^2))
within <- tapply(rows$reward, rows$group, function(x) if (length(x) > 1) populationDeviation(x) else NA)
share <- tapply(rows$reward, rows$group, function(x) mean(x >= 1))
second <- rows[!is.na(rows$format), ]
means <- tapply(rows$reward, rows$group, mean)[as.character(unique(second$group))]
paired <- t.test(tapply(second$format, second$group, mean), means, paired = TRUE)
text <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
degrees <- c(2:6, 10, 30, 100, 199:202, 1000)
intervals <- sapply(degrees, function(n) t.test(rep(c(0, 1), length.out = n))$conf.int)
cat(sprintf('{"version":"%s",\n', R.version.string))
cat(sprintf('"mean":%.17g,"ci95":%s,\n', mean(rows$reward), text(clustered(rows$reward, rows$group))))
cat(sprintf('"std_dev":%.17g,"within":%.17g,\n', populationDeviation(rows$reward), mean(within, na.rm = TRUE)))
cat(sprintf('"percentiles":%s,\n', text(quantile(rows$reward, c(0, 0.1, 0.5, 0.9, 1)))))
cat(sprintf('"solved":%s,\n', text(c(sum(share == 1), sum(share > 0 & share < 1), sum(share == 0)))))
cat(sprintf('"pass":%s,\n', text(sapply(c(1, 2, 4, 8), passAt))))
cat(sprintf('"metric":%.17g,"metricCi95":%s,\n', mean(rows$format, na.rm = TRUE),
  text(with(rows[!is.na(rows$format), ], clustered(format, group)))))
cat(sprintf('"paired":%s,\n', text(c(nrow(means), paired$estimate, paired$conf.int))))
cat(sprintf('"groups":%s,\n"low":%s,\n"high":%s}\n', text(degrees), text(intervals[1, ]), text(intervals[2, ])))
