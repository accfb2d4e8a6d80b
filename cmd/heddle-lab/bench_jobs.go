package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"heddle/cmd/internal/program"
	"heddle/integration/hadooplab"
	"heddle/integration/walltime"
)

func newBenchJobs() *cobra.Command {
	var clusters, only []string
	var p walltime.Programs
	var sizes walltime.Sizes
	var o walltime.Options
	var folder, save string
	var asJSON bool
	c := &cobra.Command{
		Use:   "jobs",
		Short: "Compare how long jobs take on Heddle and on a stock Hadoop",
		Long: `Runs the same jobs on several clusters, in turn, and prints how long they took. The clusters have one file system.

Without --cluster, this command starts a stock Hadoop (from Maven's jars; it needs a JDK, and mvn the first time), a Heddle, and a
Heddle whose node keeps archives of Java classes. With --cluster, it looks for hadoop, hdfs and spark-submit in PATH. Each job except
terasort runs once on each cluster before its times count. The table is in Markdown: medians (least–most, number of runs) and ratios
to the first cluster.

The command first prints how long it will take. It repeats a run that fails; if that fails as well, a line below the table names it.
With --budget, it leaves out what would take too long, beginning with the last job. If you interrupt it, it prints what it has
measured. With --save, a file has the table at any time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Runs < 1 || o.WarmUp < 0 || o.Budget < 0 || o.Limit < 0 {
				return errors.New("--runs must be at least 1, and --warm-up, --budget and --limit must not be negative")
			}
			heddle, err := program.Beside("heddle")
			if err != nil {
				return err
			}
			o.Folder = fmt.Sprintf("%s-%d", folder, os.Getpid())
			temp, err := os.MkdirTemp("", "heddle-bench-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(temp)
			if len(clusters) == 0 {
				labs, err := startLabs(cmd.Context(), heddle, p.Spark, only)
				if err != nil {
					return err
				}
				defer labs.Close()
				o.Clusters, p = labs.Clusters, labs.Programs
			} else {
				p.Heddle = true
				if o.Clusters, err = namedClusters(clusters, heddle, p.Spark); err != nil {
					return err
				}
			}
			if o.Jobs, err = walltime.Only(walltime.Standard(p, sizes, o.Folder, temp), only); err != nil {
				return err
			}
			if save != "" {
				o.Keep = func(r walltime.Report) error { return saveTimes(save, r, asJSON) }
			}
			return runJobs(cmd, o, asJSON)
		},
	}
	f := c.Flags()
	jobFlags(f, &o, &sizes, &p)
	f.StringArrayVar(&clusters, "cluster", nil, "a running cluster, name=configuration-folder; give at least two")
	f.StringSliceVar(&only, "only", nil, "the jobs to run, the most important ones first (default: all whose programs are installed)")
	f.StringVar(&save, "save", "", "save the table in this file as it grows")
	f.StringVar(&folder, "folder", "/tmp/heddle-bench", "prefix of a folder's name on the clusters' file system")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

// startLabs starts the clusters. A Spark is fetched if none is given and one of the jobs needs it.
func startLabs(ctx context.Context, heddle, spark string, only []string) (_ *walltime.Labs, err error) {
	if spark == "" && wantsSpark(only) {
		if spark, err = hadooplab.Spark(ctx, hadooplab.SparkVersion); err != nil {
			return nil, err
		}
	}
	return walltime.StartLabs(ctx, heddle, spark)
}

// namedClusters returns running clusters, given as name=configuration-folder, with the programs that run jobs on them.
func namedClusters(named []string, heddle, spark string) (all []walltime.Cluster, err error) {
	programs := map[string]string{"heddle": heddle}
	if spark != "" {
		programs["spark-submit"] = filepath.Join(spark, "bin", "spark-submit")
	}
	for _, text := range named {
		name, dir, ok := strings.Cut(text, "=")
		if !ok || name == "" || dir == "" {
			return nil, fmt.Errorf("--cluster %s: write name=configuration-folder", text)
		}
		all = append(all, walltime.Configured(name, dir, programs))
	}
	return all, nil
}

// runJobs runs the jobs, prints their times, and removes their files.
func runJobs(cmd *cobra.Command, o walltime.Options, asJSON bool) error {
	o.Tell = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
	r, err := walltime.Run(cmd.Context(), o)
	err = errors.Join(err, printTimes(cmd.OutOrStdout(), r, asJSON))
	if clean := o.Clusters[0].Run(context.WithoutCancel(cmd.Context()), "hdfs", "dfs", "-rm", "-r", "-f", "-skipTrash", o.Folder); clean != nil {
		o.Tell(fmt.Sprintf("can't remove %s: %v", o.Folder, clean))
	}
	return err
}

// jobFlags are the flags of what runs, and how often.
func jobFlags(f *pflag.FlagSet, o *walltime.Options, sizes *walltime.Sizes, p *walltime.Programs) {
	f.IntVar(&o.Runs, "runs", 5, "runs of each job on each cluster")
	f.IntVar(&o.WarmUp, "warm-up", 1, "runs of each job on each cluster before its times count")
	f.IntVar(&sizes.Text, "text-mb", 6, "size of the text for wordcount, in MB")
	f.IntVar(&sizes.Terasort, "terasort-mb", 1000, "size of terasort's input, in MB")
	f.DurationVar(&o.Budget, "budget", 0, "how long everything may take, including preparations; 0 is no limit")
	f.DurationVar(&o.Limit, "limit", 10*time.Minute, "how long one run may take before it counts as failed")
	f.StringVar(&p.Examples, "examples", "", "Hadoop's jar of MapReduce examples (with --cluster)")
	f.StringVar(&p.Streaming, "streaming", "", "Hadoop's jar of streaming (with --cluster)")
	f.StringVar(&p.Spark, "spark", os.Getenv("SPARK_HOME"), "folder of Spark (default $SPARK_HOME; without that and without --cluster, it is downloaded from PyPI the first time)")
	f.StringVar(&p.SparkPi, "spark-pi", "", "a jar with a class SparkPi (with --cluster)")
}

// wantsSpark reports whether one of the jobs needs Spark. No names stand for all jobs.
func wantsSpark(only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(job string) bool {
		return strings.HasPrefix(job, "pi.py") || strings.HasPrefix(job, "SparkPi")
	})
}

func printTimes(w io.Writer, r walltime.Report, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	return r.Print(w)
}

// saveTimes replaces the whole file at once, so that a reader never finds half a table.
func saveTimes(path string, r walltime.Report, asJSON bool) error {
	var b bytes.Buffer
	if err := printTimes(&b, r, asJSON); err != nil {
		return err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
