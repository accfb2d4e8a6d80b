// Package mapreduce runs streaming MapReduce jobs: a mapper, a combiner and a reducer that are any commands which read and
// write lines. It is Hadoop Streaming without Java, on Heddle or a stock YARN.
//
// A job has three kinds of process, all of them the same binary:
//
//   - Submit and Follow are the user's side. They cut the input into splits, stage what containers need, submit the
//     application, and watch it.
//   - Master is the ApplicationMaster. It asks for containers, hands out tasks, and commits the output.
//   - worker.Run runs in the other containers. It does one task after the other and serves the outputs of its map tasks over
//     HTTP until no reduce task needs them any more. That takes no auxiliary service of the NodeManager: a job runs on any
//     cluster as it is (docs/decisions/mapreduce.md).
//
// The processes share packages job (a job's description, and their messages), signed (their signatures), input (files and splits), lines
// (sorting) and commit (the output).
//
// # Data
//
// A record is a line: bytes up to a line feed. The mapper gets the lines of its split on its standard input, and of what it
// writes, each line goes to the reduce task that the hash of its key, the bytes before the first tab, selects. Reducers get
// their lines sorted by all of their bytes, as sort does in the C locale, so that lines with equal keys are adjacent. Nothing
// is added to lines or taken from them. A last line without line feed gets one.
//
// The output is therefore that of
//
//	cat input | mapper | LC_ALL=C sort | reducer
//
// with one reduce task, and its lines are the same with several, if the commands treat keys independently.
package mapreduce
