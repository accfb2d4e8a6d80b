package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/integration/hadooplab"
	"heddle/integration/walltime"
)

func newBenchJobs() *cobra.Command {
	var clusters, only []string
	var p walltime.Programs
	var sizes walltime.Sizes
	var runs, warmUp int
	var folder string
	var asJSON bool
	c := &cobra.Command{
		Use:   "jobs",
		Short: "Compare how long jobs take on Heddle and on a stock Hadoop",
		Long: `Runs the same jobs on several clusters, in turn, and prints how long they took. The clusters have one file system.

Without --cluster a stock Hadoop (from Maven's jars; it takes a JDK, and mvn the first time), a Heddle, and a Heddle whose node keeps
archives of Java classes are started on this machine. With it, hadoop, hdfs and spark-submit are looked up in PATH. Each job is run once on each cluster
before it counts, but for terasort. The table is in Markdown: medians (least–most) and ratios to the first cluster.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runs < 1 {
				return fmt.Errorf("--runs is %d: 1 is the least", runs)
			}
			heddle, err := os.Executable()
			if err != nil {
				return err
			}
			o := walltime.Options{Runs: runs, WarmUp: warmUp, Folder: fmt.Sprintf("%s-%d", folder, os.Getpid())}
			temp, err := os.MkdirTemp("", "heddle-bench-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(temp)
			if len(clusters) == 0 {
				if p.Spark == "" && wantsSpark(only) {
					if p.Spark, err = hadooplab.Spark(cmd.Context()); err != nil {
						return err
					}
				}
				labs, err := walltime.StartLabs(cmd.Context(), heddle, p.Spark)
				if err != nil {
					return err
				}
				defer labs.Close()
				o.Clusters, p = labs.Clusters, labs.Programs
			} else {
				p.Heddle = true
				programs := map[string]string{"heddle": heddle}
				if p.Spark != "" {
					programs["spark-submit"] = filepath.Join(p.Spark, "bin", "spark-submit")
				}
				for _, text := range clusters {
					name, dir, ok := strings.Cut(text, "=")
					if !ok || name == "" || dir == "" {
						return fmt.Errorf("--cluster %s: name=configuration-folder is wanted", text)
					}
					o.Clusters = append(o.Clusters, walltime.Configured(name, dir, programs))
				}
			}
			if o.Jobs, err = walltime.Only(walltime.Standard(p, sizes, o.Folder, temp), only); err != nil {
				return err
			}
			o.Tell = func(job, cluster string, run int, took time.Duration) {
				which := fmt.Sprintf("run %d", run)
				if run < 1 {
					which = "warming up"
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s, %s: %.1f s\n", job, cluster, which, took.Seconds())
			}
			r, err := walltime.Run(cmd.Context(), o)
			clean := o.Clusters[0].Run(context.WithoutCancel(cmd.Context()), "hdfs", "dfs", "-rm", "-r", "-f", "-skipTrash", o.Folder)
			if asJSON {
				return errors.Join(err, clean, json.NewEncoder(cmd.OutOrStdout()).Encode(r))
			}
			return errors.Join(err, clean, r.Print(cmd.OutOrStdout()))
		},
	}
	f := c.Flags()
	f.StringArrayVar(&clusters, "cluster", nil, "a running cluster, name=configuration-folder; at least two make sense")
	f.StringSliceVar(&only, "only", nil, "the jobs to run (default: all whose programs are there)")
	f.IntVar(&runs, "runs", 5, "runs of each job on each cluster")
	f.IntVar(&warmUp, "warm-up", 1, "runs of each job on each cluster before those that count")
	f.IntVar(&sizes.Text, "text-mb", 6, "size of the text whose words are counted, in MB")
	f.IntVar(&sizes.Terasort, "terasort-mb", 1000, "size of what is sorted, in MB")
	f.StringVar(&p.Examples, "examples", "", "Hadoop's jar of MapReduce examples (with --cluster)")
	f.StringVar(&p.Streaming, "streaming", "", "Hadoop's jar of streaming (with --cluster)")
	f.StringVar(&p.Spark, "spark", os.Getenv("SPARK_HOME"), "folder of Spark (default $SPARK_HOME; else, without --cluster, it is fetched from PyPI the first time)")
	f.StringVar(&folder, "folder", "/tmp/heddle-bench", "beginning of the name of a folder on the clusters' file system")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	f.StringVar(&p.SparkPi, "spark-pi", "", "a jar with a class SparkPi (with --cluster)")
	return c
}

// wantsSpark reports whether one of the jobs, or all of them, take Spark.
func wantsSpark(only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(job string) bool {
		return strings.HasPrefix(job, "pi.py") || strings.HasPrefix(job, "SparkPi")
	})
}
