package main

import (
	"context"
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
	"heddle/cmd/heddle/internal/streaming"
	"heddle/conf"
	"heddle/internal/plain"
	"heddle/yarn/pb"
)

func newMR(s *source) *cobra.Command {
	return readsItsOwn(&cobra.Command{ // Hadoop's options have one dash
		Use:   "mr -input PATH -output DIR -mapper COMMAND [options]",
		Short: "Run a streaming MapReduce job",
		Long: `Runs commands over files in parallel, like Hadoop Streaming and with its options. The mapper reads lines of the
input and writes lines. The reducer reads them sorted: lines with the same key (the part before the first tab) follow each other.

With one reduce task the output equals that of   cat INPUT | MAPPER | LC_ALL=C sort | REDUCER

` + streaming.New().Usage(),
		Example: `  heddle mr -input /data/text -output /data/counts -mapper 'tr -s " " "\n"' -reducer 'uniq -c'
  heddle mr -input 'hdfs://nn/logs/*.gz' -output out -mapper ./parse.py -reducer 'sort -u' -file parse.py -numReduceTasks 4`,
		GroupID: tools,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := &mrJob{}
			if err := o.take(s, args); err != nil {
				if errors.Is(err, flag.ErrHelp) {
					return cmd.Help()
				}
				return err
			}
			return o.run(cmd.Context(), s, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	})
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

// mrJob is a job of heddle mr with its command line.
type mrJob struct {
	*streaming.Options
	job  job.Job
	file string // of settings for the job
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
	return c, c.ValidateFor(conf.Client).Err()
}

// take takes the options of a command line, and of where the configuration is.
func (o *mrJob) take(s *source, args []string) error {
	o.Options = streaming.New()
	if err := o.Options.Parse(args); err != nil {
		return err
	}
	if o.Conf != "" {
		info, err := os.Stat(o.Conf)
		switch {
		case err != nil:
			return fmt.Errorf("mr: -conf: %w", err)
		case info.IsDir():
			s.dir = o.Conf
		default:
			o.file = o.Conf
		}
	}
	s.overrides = append(s.overrides, o.Definitions...)
	o.job = job.Job{
		Name: o.Name, Inputs: o.Inputs, Output: o.Output, Mapper: o.Mapper, Combiner: o.Combiner, Reducer: o.Reducer, Packed: o.Packed,
		Files: o.Files, Archives: o.Archives, Env: o.Env, Settings: o.Settings, Speculation: o.Speculation, Freeze: o.Freeze, SlowStart: o.SlowStart,
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
	if o.ReducesGiven {
		if o.Reduces < 0 || o.Reduces > 1e6 {
			return fmt.Errorf("mr: -numReduceTasks is %d: it must be an integer from 0 to 1000000", o.Reduces)
		}
		o.job.Reduces = o.Reduces
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
	case o.Verbose:
		log.Logger.SetLevel(logrus.DebugLevel)
	case log.Logger.Level > logrus.WarnLevel:
		log.Logger.SetLevel(logrus.WarnLevel) // a user who waits for a job doesn't need a daemon's messages
	}
	if err := o.decideReduces(c); err != nil {
		return err
	}
	for _, text := range job.Unused(c, o.job.Settings) {
		fmt.Fprintln(stderr, "mr: warning: -D", text)
	}
	began := time.Now()
	job, err := mapreduce.Submit(ctx, o.job, mapreduce.Options{Conf: c, Binary: o.Binary, Alone: o.Background, Attempts: o.JSON, Log: log})
	if err != nil {
		return fmt.Errorf("mr: %w", err)
	}
	defer job.Close()
	if o.Background {
		_, err := fmt.Fprintln(stdout, job.ID)
		return err
	}
	p := newProgress(stderr, o.Quiet)
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
	if o.JSON {
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
	if !o.Quiet && r.Known {
		if err := r.Status.Counters.Print(plain.Writer{W: stderr}); err != nil {
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
	return plain.WriteJSON(w, out)
}
