// Package job describes a streaming MapReduce job: its commands, settings and counters, and the messages between its processes. It is data
// with checks; package mapreduce and its workers act on it.
package job

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/am/mapreduce/lines"
	"heddle/am/mapreduce/served"
	"heddle/conf"
	"heddle/conf/rpc"
	"heddle/conf/ssl"
	"heddle/internal/bounded"
	"heddle/internal/sharedsecret"
	"heddle/yarn/records"
	"heddle/yarn/sasl"
)

// Job is a user's request.
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
	// Packed makes one mapper read all the small files of a map task, as Hadoop's CombineTextInputFormat does: it doesn't
	// learn their names, nor where one ends. Otherwise each file has a mapper of its own.
	Packed bool
	// Speculation is the rule by which tasks that get on slowly are done twice: esplash, late, or none, which "" stands for. With split
	// they leave the rest of their input to others.
	Speculation string
	// Freeze suspends tasks for copies of slow ones that find no container: one that has time gives the copy its room. Only the tasks of
	// jobs without reduces do, in queues whose containers are suspended by preemption.
	Freeze bool
	// SlowStart says when reduces begin: "omo", as late as their shuffle allows; a number, when this part of the maps is done;
	// "", when the part that the configuration says is done and all other maps run.
	SlowStart string
	// Settings are the user's own among those of the configuration. Commands see them in their environment.
	Settings map[string]string
}

// Keys of Hadoop's mapred-site.xml that jobs follow.
const (
	KeyName         = "mapreduce.job.name"
	KeyQueue        = "mapreduce.job.queuename"
	KeyLabel        = "mapreduce.job.node-label-expression"
	KeyPriority     = "mapreduce.job.priority"
	KeyReduces      = "mapreduce.job.reduces"
	KeyMapMemory    = "mapreduce.map.memory.mb"
	KeyMapCores     = "mapreduce.map.cpu.vcores"
	KeyReduceMemory = "mapreduce.reduce.memory.mb"
	KeyReduceCores  = "mapreduce.reduce.cpu.vcores"
	KeyMasterMemory = "yarn.app.mapreduce.am.resource.mb"
	KeyMasterCores  = "yarn.app.mapreduce.am.resource.cpu-vcores"
	KeyMasterTries  = "mapreduce.am.max-attempts"
	KeySort         = "mapreduce.task.io.sort.mb"
	KeyFactor       = "mapreduce.task.io.sort.factor"
	KeyTimeout      = "mapreduce.task.timeout"
	KeyMapTries     = "mapreduce.map.maxattempts"
	KeyReduceTries  = "mapreduce.reduce.maxattempts"
	KeyCopies       = "mapreduce.reduce.shuffle.parallelcopies"
	KeySlowStart    = "mapreduce.job.reduce.slowstart.completedmaps"
	KeySplitMin     = "mapreduce.input.fileinputformat.split.minsize"
	KeySplitMax     = "mapreduce.input.fileinputformat.split.maxsize"
	KeySeparator    = "stream.map.output.field.separator"
	KeyFields       = "stream.num.map.output.key.fields"
	KeyNodeFailures = "mapreduce.job.maxtaskfailures.per.tracker"
)

// Rules of Job.Speculation.
const (
	SpeculateNone    = "none"
	SpeculateESplash = "esplash"
	SpeculateLate    = "late"
	SpeculateSplit   = "split"
)

// Start is the rule by which reduces begin.
type Start int

// Rules by which reduces begin.
const (
	StartAfterMaps  Start = iota // when the fraction of maps is done and all others run
	StartAtFraction              // when the fraction of maps is done
	StartLazily                  // as late as their shuffle allows
)

// Spec is all that containers must know about a job. It is staged as a file that only the user can read.
type Spec struct {
	Job       Job
	User      string
	Conf      map[string]string // the cluster's configuration as the user had it
	Staging   string            // folder of this job's files
	Output    string            // full name
	Key       []byte            // with which the job's processes prove that they belong to it
	Maps      int
	Alone     bool       // the job isn't followed
	Resources []Resource // for workers
	// NodesServe has the shuffle services of nodes serve the outputs of maps, where nodes have them: the user's configuration says so.
	NodesServe bool
	// ServeTLS says that they speak HTTPS, and Authorities, in PEM, who signs their certificates, and those of a Key Management Server; nil: whom each machine trusts.
	ServeTLS    bool
	Authorities []byte
	// Sealed has the job's processes encrypt what they tell each other, besides signing it: the user's configuration asks for privacy, or for an encrypted shuffle.
	Sealed bool
	// Shown are the certificates of the user's own ssl-client.xml with their keys, in PEM, where the services ask for them.
	Shown []byte

	MapSize, ReduceSize Size
	SortMB              int
	Factor              int // runs that are merged at once
	Timeout             time.Duration
	MapTries            int
	ReduceTries         int
	Copies              int
	NodeFailures        int // of tasks, by which a node is avoided
	SlowStart           float64
	Start               Start
	Separator           string
	KeyFields           int
	MasterTries         int
	MasterSize          Size
	Priority            int32
	Queue               string
	Label               string // of the nodes for all containers; empty: the queue's default
	SplitMin, SplitMax  int64
}

type Size struct{ MemoryMB, Cores int64 }

func (s Size) Resource() records.Resource { return records.NewResource(s.MemoryMB, s.Cores) }

// Resource is a file for containers.
type Resource struct {
	Name    string // in the work folder
	URL     string
	Size    int64
	ModTime int64
	Archive bool
}

// check refuses what lacks something, or makes no sense.
func (j *Job) check() error {
	switch {
	case strings.TrimSpace(j.Mapper) == "":
		return errors.New("no mapper: -mapper says which command turns input lines into output lines")
	case len(j.Inputs) == 0:
		return errors.New("no input: -input names a file, a directory, or a pattern")
	case j.Output == "":
		return errors.New("no output: -output names a directory that doesn't exist yet")
	case j.Reduces < 0:
		return fmt.Errorf("%d reduce tasks: 0 is the least (%s)", j.Reduces, KeyReduces)
	}
	for name := range j.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%q can't be the name of a variable of the environment", name)
		}
	}
	return nil
}

// NewSpec checks a job as far as that takes no look at any file.
func NewSpec(j Job, c *conf.Config) (*Spec, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	s := &Spec{Job: j, Conf: map[string]string{}}
	for set := range c.Settings() {
		if c.IsSet(set.Key) {
			if v, ok := c.Verbatim(set.Key); ok {
				s.Conf[set.Key] = v
			}
		}
	}
	if s.Job.Name == "" {
		s.Job.Name, _ = c.Get(KeyName)
	}
	if s.Job.Name == "" {
		s.Job.Name = "streaming: " + j.Mapper
		if j.Reducer != "" && j.Reduces > 0 {
			s.Job.Name += " | " + j.Reducer
		}
	}
	if s.Queue, _ = c.Get(KeyQueue); s.Queue == "" {
		s.Queue = "default"
	}
	label, _ := c.Get(KeyLabel)
	s.Label = strings.TrimSpace(label)
	r := reader{c: c}
	s.MapSize = Size{r.memory(KeyMapMemory, 1024), r.number(KeyMapCores, 1, 1, math.MaxInt32)}
	s.ReduceSize = Size{r.memory(KeyReduceMemory, 1024), r.number(KeyReduceCores, 1, 1, math.MaxInt32)}
	s.MasterSize = Size{r.memory(KeyMasterMemory, 1024), r.number(KeyMasterCores, 1, 1, math.MaxInt32)}
	s.MasterTries = int(r.number(KeyMasterTries, 2, 1, math.MaxInt32))
	s.SortMB = int(r.number(KeySort, 100, 1, 2047))
	s.Factor = int(r.number(KeyFactor, 64, 2, 10000))
	s.MapTries = int(r.number(KeyMapTries, 4, 1, math.MaxInt32))
	s.ReduceTries = int(r.number(KeyReduceTries, 4, 1, math.MaxInt32))
	s.Copies = int(r.number(KeyCopies, 5, 1, 1000))
	s.NodeFailures = int(r.number(KeyNodeFailures, 3, 1, math.MaxInt32))
	s.Timeout = time.Duration(r.number(KeyTimeout, 600_000, 0, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	s.SplitMin = r.number(KeySplitMin, 0, 0, math.MaxInt64)
	s.SplitMax = r.number(KeySplitMax, math.MaxInt64, 1, math.MaxInt64)
	s.KeyFields = int(r.number(KeyFields, 1, 1, math.MaxInt32))
	s.SlowStart = r.fraction(KeySlowStart, 0.05)
	r.rules(s)
	if err := s.serving(c); err != nil {
		return nil, err
	}
	s.Separator = "\t"
	if v, ok := c.Verbatim(KeySeparator); ok && v != "" {
		s.Separator = v
	}
	s.Priority = r.priority()
	return s, r.err
}

// TLS returns the settings of connections between the job's processes; nil if they aren't encrypted.
func (s *Spec) TLS() (*tls.Config, error) {
	if !s.Sealed {
		return nil, nil
	}
	return sharedsecret.TLS(s.Key, "heddle mr")
}

// Transport returns how the job's processes call each other, by URLs of http. idle connections to each stay open.
func (s *Spec) Transport(idle int) (*http.Transport, error) {
	t := &http.Transport{MaxIdleConnsPerHost: idle}
	c, err := s.TLS()
	if c != nil {
		t.DialContext = sharedsecret.Dial(c)
	}
	return t, err
}

// serving reads whether nodes have a shuffle service by the user's configuration, and how reduces fetch from it.
func (s *Spec) serving(c *conf.Config) error {
	s.NodesServe = s.Job.Reduces > 0 && slices.Contains(c.Strings("yarn.nodemanager.aux-services"), served.Service)
	s.ServeTLS = c.Bool("mapreduce.shuffle.ssl.enabled")
	q, err := rpc.Protection(c)
	if err != nil {
		return err
	}
	s.Sealed = s.ServeTLS || q[0] == sasl.Privacy
	trust, err := ssl.Client(c)
	switch {
	case err == nil:
		s.Authorities = trust.Authorities()
		if s.NodesServe && s.ServeTLS && ssl.Shows(c) {
			s.Shown, err = trust.Shown()
			return err
		}
	case s.NodesServe && s.ServeTLS:
		return fmt.Errorf("mapreduce.shuffle.ssl.enabled is set, and reduces can't know the certificates of nodes: %w", err)
	}
	return nil
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

// memory returns a container's memory in MB; -1 stands for the default.
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

// rules reads which policies the job wants.
func (r *reader) rules(s *Spec) {
	switch s.Job.Speculation {
	case "", SpeculateNone, SpeculateESplash, SpeculateLate, SpeculateSplit:
	default:
		r.fail("-speculation", s.Job.Speculation, "esplash, late, split or none")
	}
	if s.Job.Freeze && (s.Job.Speculation == "" || s.Job.Speculation == SpeculateNone) {
		r.fail("-speculation", SpeculateNone, "esplash, late or split, as there is -freeze,")
	}
	switch text := s.Job.SlowStart; text {
	case "":
	case "omo":
		s.Start = StartLazily
	default:
		f, err := conf.ParseFloat(text)
		if err != nil || !(f >= 0 && f <= 1) {
			r.fail("-slowstart", text, "omo, or a number from 0 to 1,")
		}
		s.Start, s.SlowStart = StartAtFraction, f
	}
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
	text, ok := r.c.Get(KeyPriority)
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
		r.fail(KeyPriority, text, "an integer, or one of VERY_LOW, LOW, NORMAL, HIGH and VERY_HIGH,")
	}
	return int32(n)
}

// Config returns the configuration that the user had.
func (s *Spec) Config() (*conf.Config, error) {
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		return nil, err
	}
	for k, v := range s.Conf {
		c.Set(k, v)
	}
	return c, nil
}

// CommitFolder returns where attempts agree on who commits.
func (s *Spec) CommitFolder() string { return s.Staging + "/commit" }

// KeyOf returns the key of a line without its line feed: its first fields.
func (s *Spec) KeyOf(line []byte) []byte {
	return lines.Key(line, s.Separator, s.KeyFields)
}

// Names of the files that containers find in their work folder.
const (
	BinaryFile = ".heddle"
	SpecFile   = ".job.json"
	SplitsFile = ".splits.json"
)

func ReadSpec(folder string) (*Spec, error) {
	var s Spec
	return &s, ReadJSON(filepath.Join(folder, SpecFile), &s)
}

// maxFile bounds a file with a description of a job or its splits, in bytes.
const maxFile = 256 << 20

func ReadJSON(name string, to any) error {
	b, err := bounded.ReadFile(name, maxFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
