package job

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Counters count what happened in a job or task, by group and name.
type Counters map[string]map[string]int64

// Groups of counters, as Hadoop calls them.
const (
	TaskGroup = "org.apache.hadoop.mapreduce.TaskCounter"
	JobGroup  = "org.apache.hadoop.mapreduce.JobCounter"
	FileGroup = "org.apache.hadoop.mapreduce.FileSystemCounter"
)

// Counters of this package, by Hadoop's names.
const (
	MapInputRecords      = "MAP_INPUT_RECORDS"
	MapInputBytes        = "MAP_INPUT_BYTES"
	MapOutputRecords     = "MAP_OUTPUT_RECORDS"
	MapOutputBytes       = "MAP_OUTPUT_BYTES"
	CombineInputRecords  = "COMBINE_INPUT_RECORDS"
	CombineOutputRecords = "COMBINE_OUTPUT_RECORDS"
	SpilledRecords       = "SPILLED_RECORDS"
	ShuffledMaps         = "SHUFFLED_MAPS"
	FailedShuffle        = "FAILED_SHUFFLE"
	ShuffleBytes         = "REDUCE_SHUFFLE_BYTES"
	ReduceInputRecords   = "REDUCE_INPUT_RECORDS"
	ReduceOutputRecords  = "REDUCE_OUTPUT_RECORDS"
	BytesWritten         = "BYTES_WRITTEN"

	LaunchedMaps    = "TOTAL_LAUNCHED_MAPS"
	LaunchedReduces = "TOTAL_LAUNCHED_REDUCES"
	FailedMaps      = "NUM_FAILED_MAPS"
	FailedReduces   = "NUM_FAILED_REDUCES"
	KilledMaps      = "NUM_KILLED_MAPS"
	KilledReduces   = "NUM_KILLED_REDUCES"
	LocalMaps       = "DATA_LOCAL_MAPS"
	OtherMaps       = "OTHER_LOCAL_MAPS"
	LostMaps        = "NUM_LOST_MAP_OUTPUTS"
	DividedMaps     = "NUM_DIVIDED_MAPS"
	LaunchedWorkers = "TOTAL_LAUNCHED_WORKERS"
)

// Add counts n more of something. It reports false if that is beyond 64 bits: the counter then stays at the limit. (Hadoop's overflow.)
func (c Counters) Add(group, name string, n int64) bool {
	if c[group] == nil {
		c[group] = map[string]int64{}
	}
	old := c[group][name]
	sum := old + n
	fits := (sum > old) == (n > 0)
	if !fits && n > 0 {
		sum = math.MaxInt64
	} else if !fits {
		sum = math.MinInt64
	}
	c[group][name] = sum
	return fits
}

// AddAll adds all of other.
func (c Counters) AddAll(other Counters) {
	for group, names := range other {
		for name, n := range names {
			c.Add(group, name, n)
		}
	}
}

// Sub takes all of other away.
func (c Counters) Sub(other Counters) {
	for group, names := range other {
		for name, n := range names {
			c.Add(group, name, -max(n, -math.MaxInt64))
		}
	}
}

// Get returns a counter; 0 if nothing was counted.
func (c Counters) Get(group, name string) int64 { return c[group][name] }

// titles are the counters' names in reports.
var titles = map[string]string{
	TaskGroup: "Map-Reduce Framework", JobGroup: "Job Counters", FileGroup: "File System Counters",
	MapInputRecords: "Map input records", MapInputBytes: "Map input bytes",
	MapOutputRecords: "Map output records", MapOutputBytes: "Map output bytes",
	CombineInputRecords: "Combine input records", CombineOutputRecords: "Combine output records",
	SpilledRecords: "Spilled Records", ShuffledMaps: "Shuffled Maps", FailedShuffle: "Failed Shuffles",
	ShuffleBytes: "Reduce shuffle bytes", ReduceInputRecords: "Reduce input records",
	ReduceOutputRecords: "Reduce output records", BytesWritten: "Bytes Written",
	LaunchedMaps: "Launched map tasks", LaunchedReduces: "Launched reduce tasks",
	FailedMaps: "Failed map tasks", FailedReduces: "Failed reduce tasks", KilledMaps: "Killed map tasks",
	KilledReduces: "Killed reduce tasks",
	LocalMaps:     "Data-local map tasks", OtherMaps: "Other local map tasks",
	LostMaps: "Lost map outputs", LaunchedWorkers: "Launched containers",
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
