-- A busted helper: the collector never rests, so that whatever is not anchored is gone at once.
collectgarbage("incremental", 1, 1000)
