// Package logs handles the files that containers write into their log directories:
//
//	<log dir>/<application>/<container>/<file>
//
// [Local] lists, reads and follows them while they are on the node.
//
// With log aggregation on, an [Aggregator] copies the logs of an ended application to the remote file system, and
// removes them here. It copies rolling logs earlier if the application asks for that. Each node writes one file for
// each application (layout.go), in the format of Hadoop's LogAggregationTFileController (aggregated.go, tfile) or in
// its indexed format. `yarn logs` and the JobHistoryServer read these files. [Archive] reads those of Heddle and
// Hadoop. Failed uploads are repeated, reported, and their logs kept. With log aggregation off, a [Keeper] removes logs
// some time after the application's end.
//
// Logs belong to the user and are hostile: see userfiles.
package logs
