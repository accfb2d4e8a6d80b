package mapreduce

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"heddle/conf"
	"heddle/yarn/records"
)

// Job is what a user wants done.
type Job struct {
	Name   string   // shown in lists; from the commands if empty
	Inputs []string // files, directories (with all below them), or patterns of both; names as hdfsadapter takes them
	Output string   // directory that doesn't exist yet
	// Commands for sh. Without a Reducer sorted lines are the output; without a Combiner nothing is combined.
	Mapper, Combiner, Reducer string
	// Reduces is the number of reduce tasks; 0 makes the mappers' outputs the job's.
	Reduces int
	// Files and Archives are put into the commands' work folder, archives unpacked. They are local, or names as hdfsadapter
	// takes them; #name at the end changes the name they have there.
	Files, Archives []string
	Env             map[string]string // for the commands
	// Packed has one mapper read all the small files of a map task, as Hadoop's CombineTextInputFormat does: it doesn't learn
	// their names, nor where one ends. Otherwise each file has a mapper of its own.
	Packed bool
	// Settings are the user's own among those of the configuration. Commands see them in their environment.
	Settings map[string]string
}

// Keys of Hadoop's mapred-site.xml that jobs follow.
const (
	keyName         = "mapreduce.job.name"
	keyQueue        = "mapreduce.job.queuename"
	keyPriority     = "mapreduce.job.priority"
	keyReduces      = "mapreduce.job.reduces"
	keyMapMemory    = "mapreduce.map.memory.mb"
	keyMapCores     = "mapreduce.map.cpu.vcores"
	keyReduceMemory = "mapreduce.reduce.memory.mb"
	keyReduceCores  = "mapreduce.reduce.cpu.vcores"
	keyMasterMemory = "yarn.app.mapreduce.am.resource.mb"
	keyMasterCores  = "yarn.app.mapreduce.am.resource.cpu-vcores"
	keyMasterTries  = "mapreduce.am.max-attempts"
	keyStaging      = "yarn.app.mapreduce.am.staging-dir"
	keySort         = "mapreduce.task.io.sort.mb"
	keyFactor       = "mapreduce.task.io.sort.factor"
	keyTimeout      = "mapreduce.task.timeout"
	keyMapTries     = "mapreduce.map.maxattempts"
	keyReduceTries  = "mapreduce.reduce.maxattempts"
	keyCopies       = "mapreduce.reduce.shuffle.parallelcopies"
	keySlowStart    = "mapreduce.job.reduce.slowstart.completedmaps"
	keySplitMin     = "mapreduce.input.fileinputformat.split.minsize"
	keySplitMax     = "mapreduce.input.fileinputformat.split.maxsize"
	keySeparator    = "stream.map.output.field.separator"
	keyFields       = "stream.num.map.output.key.fields"
	keyNodeFailures = "mapreduce.job.maxtaskfailures.per.tracker"
)

// spec is all that containers have to know about a job. It is staged as a file that only the user can read.
type spec struct {
	Job       Job
	User      string
	Conf      map[string]string // the cluster's configuration as the user had it
	Staging   string            // folder of this job's files
	Output    string            // full name
	Key       []byte            // with which the job's processes prove that they belong to it
	Maps      int
	Alone     bool       // nobody follows the job
	Resources []resource // for workers

	MapSize, ReduceSize size
	SortMB              int
	Factor              int // runs that are merged at once
	Timeout             time.Duration
	MapTries            int
	ReduceTries         int
	Copies              int
	NodeFailures        int // of tasks, by which a node is avoided
	SlowStart           float64
	Separator           string
	KeyFields           int
	MasterTries         int
	MasterSize          size
	Priority            int32
	Queue               string
	SplitMin, SplitMax  int64
}

type size struct{ MemoryMB, Cores int64 }

func (s size) resource() records.Resource { return records.NewResource(s.MemoryMB, s.Cores) }

// resource is a file for containers.
type resource struct {
	Name    string // in the work folder
	URL     string
	Size    int64
	ModTime int64
	Archive bool
}

// newSpec checks a job as far as that takes no look at any file.
func newSpec(j Job, c *conf.Config) (*spec, error) {
	switch {
	case strings.TrimSpace(j.Mapper) == "":
		return nil, errors.New("no mapper: -mapper says which command turns input lines into output lines")
	case len(j.Inputs) == 0:
		return nil, errors.New("no input: -input names a file, a directory, or a pattern")
	case j.Output == "":
		return nil, errors.New("no output: -output names a directory that doesn't exist yet")
	case j.Reduces < 0:
		return nil, fmt.Errorf("%d reduce tasks: 0 is the least (%s)", j.Reduces, keyReduces)
	}
	for name := range j.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("%q can't be the name of a variable of the environment", name)
		}
	}
	s := &spec{Job: j, Conf: map[string]string{}}
	for set := range c.Settings() {
		if c.IsSet(set.Key) {
			if v, ok := c.Verbatim(set.Key); ok {
				s.Conf[set.Key] = v
			}
		}
	}
	if s.Job.Name == "" {
		s.Job.Name, _ = c.Get(keyName)
	}
	if s.Job.Name == "" {
		s.Job.Name = "streaming: " + j.Mapper
		if j.Reducer != "" && j.Reduces > 0 {
			s.Job.Name += " | " + j.Reducer
		}
	}
	if s.Queue, _ = c.Get(keyQueue); s.Queue == "" {
		s.Queue = "default"
	}
	r := reader{c: c}
	s.MapSize = size{r.memory(keyMapMemory, 1024), r.number(keyMapCores, 1, 1, math.MaxInt32)}
	s.ReduceSize = size{r.memory(keyReduceMemory, 1024), r.number(keyReduceCores, 1, 1, math.MaxInt32)}
	s.MasterSize = size{r.memory(keyMasterMemory, 1024), r.number(keyMasterCores, 1, 1, math.MaxInt32)}
	s.MasterTries = int(r.number(keyMasterTries, 2, 1, math.MaxInt32))
	s.SortMB = int(r.number(keySort, 100, 1, 2047))
	s.Factor = int(r.number(keyFactor, 64, 2, 10000))
	s.MapTries = int(r.number(keyMapTries, 4, 1, math.MaxInt32))
	s.ReduceTries = int(r.number(keyReduceTries, 4, 1, math.MaxInt32))
	s.Copies = int(r.number(keyCopies, 5, 1, 1000))
	s.NodeFailures = int(r.number(keyNodeFailures, 3, 1, math.MaxInt32))
	s.Timeout = time.Duration(r.number(keyTimeout, 600_000, 0, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	s.SplitMin = r.number(keySplitMin, 0, 0, math.MaxInt64)
	s.SplitMax = r.number(keySplitMax, math.MaxInt64, 1, math.MaxInt64)
	s.KeyFields = int(r.number(keyFields, 1, 1, math.MaxInt32))
	s.SlowStart = r.fraction(keySlowStart, 0.05)
	s.Separator = "\t"
	if v, ok := c.Verbatim(keySeparator); ok && v != "" {
		s.Separator = v
	}
	s.Priority = r.priority()
	return s, r.err
}

// reader reads settings and keeps the first error.
type reader struct {
	c   *conf.Config
	err error
}

func (r *reader) fail(key, value, allowed string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %q: %s is allowed", key, value, allowed)
	}
}

func (r *reader) number(key string, otherwise, least, most int64) int64 {
	text, ok := r.c.Get(key)
	if !ok || text == "" || !r.c.IsSet(key) {
		return otherwise
	}
	n, err := conf.ParseInt(text)
	if err != nil || n < least || n > most {
		r.fail(key, text, fmt.Sprintf("an integer from %d to %d", least, most))
	}
	return n
}

// memory is a container's memory in MB; -1 stands for the default.
func (r *reader) memory(key string, otherwise int64) int64 {
	n := r.number(key, -1, -1, math.MaxInt32)
	if n == -1 {
		return otherwise
	}
	if n < 128 {
		r.fail(key, fmt.Sprint(n), "128 or more")
	}
	return n
}

func (r *reader) fraction(key string, otherwise float64) float64 {
	text, ok := r.c.Get(key)
	if !ok || text == "" || !r.c.IsSet(key) {
		return otherwise
	}
	f, err := conf.ParseFloat(text)
	if err != nil || !(f >= 0 && f <= 1) {
		r.fail(key, text, "a number from 0 to 1")
	}
	return f
}

// priority reads the names of Hadoop's JobPriority, or an integer.
func (r *reader) priority() int32 {
	text, ok := r.c.Get(keyPriority)
	if !ok || text == "" {
		return 0
	}
	for i, name := range []string{"DEFAULT", "VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"} {
		if strings.EqualFold(text, name) {
			return int32(i)
		}
	}
	n, err := conf.ParseInt(text)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		r.fail(keyPriority, text, "an integer, or one of VERY_LOW, LOW, NORMAL, HIGH and VERY_HIGH,")
	}
	return int32(n)
}

// config returns the configuration that the user had.
func (s *spec) config() (*conf.Config, error) {
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		return nil, err
	}
	for k, v := range s.Conf {
		c.Set(k, v)
	}
	return c, nil
}

// keyOf returns the key of a line without its line feed: its first fields.
func (s *spec) keyOf(line []byte) []byte {
	return keyOf(line, s.Separator, s.KeyFields)
}
