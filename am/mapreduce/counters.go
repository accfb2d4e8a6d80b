package mapreduce

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Counters count what happened in a job or task, by group and name.
type Counters map[string]map[string]int64

// Groups of counters, as Hadoop calls them.
const (
	taskGroup = "org.apache.hadoop.mapreduce.TaskCounter"
	jobGroup  = "org.apache.hadoop.mapreduce.JobCounter"
	fileGroup = "org.apache.hadoop.mapreduce.FileSystemCounter"
)

// Counters of this package, by Hadoop's names.
const (
	mapInputRecords      = "MAP_INPUT_RECORDS"
	mapInputBytes        = "MAP_INPUT_BYTES"
	mapOutputRecords     = "MAP_OUTPUT_RECORDS"
	mapOutputBytes       = "MAP_OUTPUT_BYTES"
	combineInputRecords  = "COMBINE_INPUT_RECORDS"
	combineOutputRecords = "COMBINE_OUTPUT_RECORDS"
	spilledRecords       = "SPILLED_RECORDS"
	shuffledMaps         = "SHUFFLED_MAPS"
	failedShuffle        = "FAILED_SHUFFLE"
	shuffleBytes         = "REDUCE_SHUFFLE_BYTES"
	reduceInputRecords   = "REDUCE_INPUT_RECORDS"
	reduceOutputRecords  = "REDUCE_OUTPUT_RECORDS"
	bytesWritten         = "BYTES_WRITTEN"

	launchedMaps    = "TOTAL_LAUNCHED_MAPS"
	launchedReduces = "TOTAL_LAUNCHED_REDUCES"
	failedMaps      = "NUM_FAILED_MAPS"
	failedReduces   = "NUM_FAILED_REDUCES"
	killedReduces   = "NUM_KILLED_REDUCES"
	localMaps       = "DATA_LOCAL_MAPS"
	otherMaps       = "OTHER_LOCAL_MAPS"
	lostMaps        = "NUM_LOST_MAP_OUTPUTS"
	launchedWorkers = "TOTAL_LAUNCHED_WORKERS"
)

// Add counts n more of something.
func (c Counters) Add(group, name string, n int64) {
	if c[group] == nil {
		c[group] = map[string]int64{}
	}
	c[group][name] += n
}

// AddAll adds all of other.
func (c Counters) AddAll(other Counters) { c.add(other, 1) }

func (c Counters) add(other Counters, times int64) {
	for group, names := range other {
		for name, n := range names {
			c.Add(group, name, times*n)
		}
	}
}

// Get returns a counter; 0 if nothing was counted.
func (c Counters) Get(group, name string) int64 { return c[group][name] }

// titles are what people read.
var titles = map[string]string{
	taskGroup: "Map-Reduce Framework", jobGroup: "Job Counters", fileGroup: "File System Counters",
	mapInputRecords: "Map input records", mapInputBytes: "Map input bytes",
	mapOutputRecords: "Map output records", mapOutputBytes: "Map output bytes",
	combineInputRecords: "Combine input records", combineOutputRecords: "Combine output records",
	spilledRecords: "Spilled Records", shuffledMaps: "Shuffled Maps", failedShuffle: "Failed Shuffles",
	shuffleBytes: "Reduce shuffle bytes", reduceInputRecords: "Reduce input records",
	reduceOutputRecords: "Reduce output records", bytesWritten: "Bytes Written",
	launchedMaps: "Launched map tasks", launchedReduces: "Launched reduce tasks",
	failedMaps: "Failed map tasks", failedReduces: "Failed reduce tasks", killedReduces: "Killed reduce tasks",
	localMaps: "Data-local map tasks", otherMaps: "Other local map tasks",
	lostMaps: "Lost map outputs", launchedWorkers: "Launched containers",
}

func title(name string) string {
	if t := titles[name]; t != "" {
		return t
	}
	return name
}

// Print writes the counters as Hadoop's job client does.
func (c Counters) Print(w io.Writer) error {
	n := 0
	for _, names := range c {
		n += len(names)
	}
	if _, err := fmt.Fprintf(w, "Counters: %d\n", n); err != nil {
		return err
	}
	for _, group := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(w, "\t%s\n", title(group))
		for _, name := range slices.Sorted(maps.Keys(c[group])) {
			if _, err := fmt.Fprintf(w, "\t\t%s=%d\n", title(name), c[group][name]); err != nil {
				return err
			}
		}
	}
	return nil
}
