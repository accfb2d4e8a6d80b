package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"heddle/am/client"
	"heddle/am/mapreduce"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/worker"
	"heddle/conf"
	"heddle/yarn/pb"
)

func newMR(s *source) *cobra.Command {
	return &cobra.Command{
		Use:   "mr -input PATH -output DIR -mapper COMMAND [options]",
		Short: "Run a streaming MapReduce job",
		Long: `Runs commands over files in parallel, like Hadoop Streaming and with its options. The mapper reads lines of the
input and writes lines. The reducer reads them sorted: lines with the same key (the part before the first tab) follow each other.

With one reduce task the output equals that of   cat INPUT | MAPPER | LC_ALL=C sort | REDUCER

` + mrOptions().usage(),
		Example: `  heddle mr -input /data/text -output /data/counts -mapper 'tr -s " " "\n"' -reducer 'uniq -c'
  heddle mr -input 'hdfs://nn/logs/*.gz' -output out -mapper ./parse.py -reducer 'sort -u' -file parse.py -numReduceTasks 4`,
		GroupID:            tools,
		DisableFlagParsing: true, // Hadoop's options have one dash
		RunE: func(cmd *cobra.Command, args []string) error {
			o := mrOptions()
			if err := o.parse(s, args); err != nil {
				if errors.Is(err, flag.ErrHelp) {
					return cmd.Help()
				}
				return err
			}
			return o.run(cmd.Context(), s, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}

// newMRMaster and newMRWorker are the commands that a job's containers run.
func newMRMaster() *cobra.Command {
	return &cobra.Command{
		Use: "mr-master", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mapreduce.Master(cmd.Context(), containerLog())
		},
	}
}

func newMRWorker() *cobra.Command {
	return &cobra.Command{
		Use: "mr-worker", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return worker.Run(cmd.Context(), args[0], containerLog())
		},
	}
}

func containerLog() *logrus.Entry {
	l := logrus.New() // writes to standard error
	l.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "2006-01-02T15:04:05.000", DisableColors: true})
	return logrus.NewEntry(l)
}

// mrJob holds the options of heddle mr.
type mrJob struct {
	flags       *flag.FlagSet
	job         job.Job
	reduces     int
	format      string
	definitions list
	environment list
	conf        string
	file        string // conf, if it is a file
	verbose     bool
	binary      string
	json        bool
	quiet       bool
	background  bool
}

// list collects the values of an option that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

// commas collects values that are separated by commas, of an option that may be repeated.
type commas struct{ to *[]string }

func (c commas) String() string { return "" }

func (c commas) Set(v string) error {
	*c.to = append(*c.to, splitInputs(v)...)
	return nil
}

// splitInputs splits at commas, except for those inside braces, which separate alternatives of a pattern.
func splitInputs(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0:
			if part := strings.TrimSpace(s[from:i]); part != "" {
				out = append(out, part)
			}
			from = i + 1
		case s[i] == '{':
			depth++
		case s[i] == '}' && depth > 0:
			depth--
		}
	}
	return out
}

func mrOptions() *mrJob {
	o := &mrJob{reduces: -1}
	f := flag.NewFlagSet("mr", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.flags = f
	f.Var(commas{&o.job.Inputs}, "input", "file, directory (with all below it) or pattern `PATH`; may be repeated")
	f.StringVar(&o.job.Output, "output", "", "`DIR` for the output, which must not exist")
	f.StringVar(&o.job.Mapper, "mapper", "", "`COMMAND` that turns input lines into output lines")
	f.StringVar(&o.job.Combiner, "combiner", "", "`COMMAND` that reduces a map task's own output")
	f.StringVar(&o.job.Reducer, "reducer", "", "`COMMAND` that reads sorted lines; without one the sorted lines are the output; NONE: don't sort either")
	f.IntVar(&o.reduces, "numReduceTasks", -1, "`N` reduce tasks; with 0 the mappers' output is the job's (default 1)")
	f.StringVar(&o.format, "inputformat", "", "`FORMAT`: TextInputFormat, or CombineTextInputFormat, which lets one mapper read several small files")
	f.Var((*list)(&o.job.Files), "file", "local `FILE` for the commands; may be repeated")
	f.Var(commas{&o.job.Files}, "files", "files `A,B` for the commands, local or with a scheme; #name changes the name")
	f.Var(commas{&o.job.Archives}, "archives", "archives `A,B`, unpacked for the commands")
	f.Var(&o.environment, "cmdenv", "variable `NAME=VALUE` of the commands' environment; may be repeated")
	f.Var(&o.definitions, "D", "setting `KEY=VALUE` of the job; may be repeated")
	f.Var(&o.definitions, "jobconf", "the same as -D `KEY=VALUE`")
	f.StringVar(&o.job.Speculation, "speculation", "", "`RULE` for slow tasks: esplash and late copy them, split gives the rest of their input to idle containers; none (default)")
	f.BoolVar(&o.job.Freeze, "freeze", false, "if a copy of a slow task finds no container, suspend a task with slack to make room; for jobs without reduces, in queues that suspend")
	f.StringVar(&o.job.SlowStart, "slowstart", "", "`RULE` that says when reduces begin: omo (as late as their shuffle allows), or the share of maps that have ended, 0.05 to 1.0")
	f.StringVar(&o.job.Name, "name", "", "`NAME` of the job")
	f.StringVar(&o.conf, "conf", "", "configuration folder `DIR` (default $HADOOP_CONF_DIR), or a file of settings for the job")
	f.StringVar(&o.binary, "binary", "", "heddle `FILE` to run on the nodes, if their system differs from this machine's")
	f.BoolVar(&o.json, "json", false, "print a report as JSON when the job has ended")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.verbose, "verbose", false, "print each step")
	f.BoolVar(&o.background, "background", false, "submit the job, print its id, and exit")
	return o
}

func (o *mrJob) usage() string {
	var b strings.Builder
	b.WriteString("Options:\n")
	o.flags.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %-28s %s\n", strings.TrimRight("-"+f.Name+" "+name, " "), text)
	})
	return strings.TrimRight(b.String(), "\n")
}

// notSupported has the options of Hadoop Streaming that name Java classes, and what happens instead.
var notSupported = map[string]string{
	"outputformat": "lines of text are written", "partitioner": "lines are partitioned by the hash of their keys",
	"inputreader": "lines of text are read", "io": "lines of text are read and written", "libjars": "no Java runs",
}

// separate splits -Dkey=value, a form that Hadoop allows, into two arguments.
func separate(args []string) []string {
	var out []string
	for _, a := range args {
		if rest, ok := strings.CutPrefix(a, "-D"); ok && strings.Contains(rest, "=") && rest[0] != '=' {
			out = append(out, "-D", rest)
			continue
		}
		out = append(out, a)
	}
	return out
}

// load reads the cluster's configuration, then the job's own file, then the settings of the command line. The last one
// wins.
func (o *mrJob) load(s *source) (*conf.Config, error) {
	c, err := conf.Load(s.options())
	if err != nil {
		return nil, err
	}
	if o.file != "" {
		file, err := filepath.Abs(o.file)
		if err != nil {
			return nil, err
		}
		if c, err = c.With(file); err != nil {
			return nil, err
		}
		for k, v := range o.job.Settings {
			c.Set(k, v)
		}
	}
	c.CloseUp() // as the daemons of this machine do
	return c, c.Validate().Err()
}

func (o *mrJob) parse(s *source, args []string) error {
	for _, a := range args {
		if why, ok := notSupported[strings.TrimLeft(a, "-")]; ok && strings.HasPrefix(a, "-") {
			return fmt.Errorf("mr: %s is not supported: %s", a, why)
		}
	}
	if err := o.flags.Parse(separate(args)); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("mr: %w (heddle mr -help lists the options)", err)
	}
	if o.flags.NArg() > 0 {
		return fmt.Errorf("mr: unexpected argument %q: put quotes around commands with blanks", o.flags.Arg(0))
	}
	if o.conf != "" {
		info, err := os.Stat(o.conf)
		switch {
		case err != nil:
			return fmt.Errorf("mr: -conf: %w", err)
		case info.IsDir():
			s.dir = o.conf
		default:
			o.file = o.conf
		}
	}
	switch o.format[strings.LastIndexByte(o.format, '.')+1:] {
	case "", "TextInputFormat":
	case "CombineTextInputFormat":
		o.job.Packed = true
	default:
		return fmt.Errorf("mr: -inputformat %s is not supported: use TextInputFormat or CombineTextInputFormat", o.format)
	}
	o.job.Settings = map[string]string{}
	for _, d := range o.definitions {
		k, v, ok := strings.Cut(d, "=")
		if !ok || k == "" {
			return fmt.Errorf("mr: -D %s: write KEY=VALUE", d)
		}
		o.job.Settings[k] = v
		s.overrides = append(s.overrides, d)
	}
	o.job.Env = map[string]string{}
	for _, e := range o.environment {
		k, v, ok := strings.Cut(e, "=")
		if !ok || k == "" {
			return fmt.Errorf("mr: -cmdenv %s: write NAME=VALUE", e)
		}
		o.job.Env[k] = v
	}
	return nil
}

// decideReduces sets the number of reduce tasks, by Hadoop Streaming's rules.
func (o *mrJob) decideReduces(c *conf.Config) error {
	const key = "mapreduce.job.reduces"
	o.job.Reduces = 1
	if text, ok := c.Get(key); ok && c.IsSet(key) {
		n, err := conf.ParseInt(text)
		if err != nil || n < 0 || n > 1e6 {
			return fmt.Errorf("mr: %s is %q: it must be an integer from 0 to 1000000", key, text)
		}
		o.job.Reduces = int(n)
	}
	given := false
	o.flags.Visit(func(f *flag.Flag) { given = given || f.Name == "numReduceTasks" })
	if given {
		if o.reduces < 0 || o.reduces > 1e6 {
			return fmt.Errorf("mr: -numReduceTasks is %d: it must be an integer from 0 to 1000000", o.reduces)
		}
		o.job.Reduces = o.reduces
	}
	switch o.job.Reducer {
	case "NONE":
		o.job.Reducer, o.job.Reduces = "", 0
	case "aggregate":
		return errors.New("mr: the reducer aggregate is a Java class of Hadoop's, which Heddle doesn't support: name a command")
	case "org.apache.hadoop.mapred.lib.IdentityReducer", "IdentityReducer":
		o.job.Reducer = ""
	}
	return nil
}

func (o *mrJob) run(ctx context.Context, s *source, stdout, stderr io.Writer) error {
	c, err := o.load(s)
	if err != nil {
		return err
	}
	log := logger(c)
	switch {
	case o.verbose:
		log.Logger.SetLevel(logrus.DebugLevel)
	case log.Logger.Level > logrus.WarnLevel:
		log.Logger.SetLevel(logrus.WarnLevel) // somebody who waits for a job doesn't need a daemon's messages
	}
	if err := o.decideReduces(c); err != nil {
		return err
	}
	for _, text := range job.Unused(c, o.job.Settings) {
		fmt.Fprintln(stderr, "mr: warning: -D", text)
	}
	began := time.Now()
	job, err := mapreduce.Submit(ctx, o.job, mapreduce.Options{Conf: c, Binary: o.binary, Alone: o.background, Attempts: o.json, Log: log})
	if err != nil {
		return fmt.Errorf("mr: %w", err)
	}
	defer job.Close()
	if o.background {
		_, err := fmt.Fprintln(stdout, job.ID)
		return err
	}
	p := newProgress(stderr, o.quiet)
	p.id = job.ID.String()
	p.line("%v: %d map and %d reduce tasks over %s in %d files", job.ID, job.Maps, o.job.Reduces, bytesText(job.InputBytes), job.Files)
	r, err := job.Follow(ctx, p.tell)
	p.end()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("mr: interrupted; %v still runs (end it with heddle app -kill %v)", job.ID, job.ID)
		}
		return fmt.Errorf("mr: %w; %v may still run: check it with heddle app -status %v, end it with heddle app -kill %v", err, job.ID, job.ID, job.ID)
	}
	p.failures(r.Status.Failures)
	if o.json {
		if err := printReport(stdout, &r, time.Since(began)); err != nil {
			return err
		}
	}
	if !r.Succeeded() {
		why := r.Report.Diagnostics
		if r.Status.Error != "" {
			why = r.Status.Error
		}
		return fmt.Errorf("mr: %v %s: %s", job.ID, ending(r.Report), p.reason(why, r.Status.Failures))
	}
	if !o.quiet && r.Known {
		if err := r.Status.Counters.Print(stderr); err != nil {
			return err
		}
	}
	p.line("%v has succeeded after %.1f s: %s", job.ID, time.Since(began).Seconds(), o.job.Output)
	return nil
}

// ending says how an unsuccessful job ended. YARN's state for a failed one is FINISHED.
func ending(r client.Report) string {
	if r.State == pb.YarnApplicationState_KILLED || r.Final == pb.FinalApplicationStatus_APP_KILLED {
		return "was killed"
	}
	return "has failed"
}

// printReport prints the outcome as JSON.
func printReport(w io.Writer, r *mapreduce.Result, took time.Duration) error {
	out := struct {
		Application string
		State       string
		FinalStatus string
		Diagnostics string
		TrackingURL string
		Attempts    int32
		Seconds     float64
		Maps        job.Stage
		Reduces     job.Stage
		Counters    job.Counters
		Failures    []job.Failure
		Began       int64         // when the ApplicationMaster did, ms since 1970
		Tasks       []job.Attempt // all attempts at them, in seconds since then
	}{
		r.Report.ID.String(), r.Report.State.String(), strings.TrimPrefix(r.Report.Final.String(), "APP_"), r.Report.Diagnostics,
		r.Report.TrackingURL, r.Report.Attempt.Attempt, took.Seconds(), r.Status.Maps, r.Status.Reduces, r.Status.Counters, r.Status.Failures,
		r.Status.Began, r.Status.Attempts,
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
