"""How sure values, differences and ranks are: resampling, intervals, tests and rank sets, all from given seeds."""
