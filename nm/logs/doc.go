// Package logs looks after the files that containers write into their log directories,
//
//	<log dir>/<application>/<container>/<file>
//
// while they run ([Local]: listing, reading, following), and after.
//
// With log aggregation on, an [Aggregator] copies the logs of an application to the remote file system when the application
// has ended, and before, if it rolls its logs and asks for that; then they are removed here. Each node writes one file an application
// (layout.go), in the format of Hadoop's LogAggregationTFileController (aggregated.go, tfile), so that `yarn logs` and the
// JobHistoryServer read them; [Archive] reads what either wrote. What the remote file system doesn't take is tried again, reported and
// kept. With log aggregation off, a [Keeper] removes logs some time after the application's end.
//
// Logs belong to the user and are hostile: see userfiles.
package logs
