package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/integration/walltime"
)

func newBenchJobs() *cobra.Command {
	var clusters, only []string
	var p walltime.Programs
	var sizes walltime.Sizes
	var runs int
	var folder string
	var asJSON bool
	c := &cobra.Command{
		Use:   "jobs",
		Short: "Compare how long jobs take on Heddle and on a stock Hadoop",
		Long: `Runs the same jobs on several clusters, in turn, and prints how long they took. The clusters have one file system.

Without --cluster a stock Hadoop (from Maven's jars; it takes Java, and mvn the first time) and a Heddle are started on
this machine. With it, hadoop, hdfs and spark-submit are looked up in PATH.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runs < 1 {
				return fmt.Errorf("--runs is %d: 1 is the least", runs)
			}
			heddle, err := os.Executable()
			if err != nil {
				return err
			}
			o := walltime.Options{Runs: runs, Folder: fmt.Sprintf("%s-%d", folder, os.Getpid())}
			temp, err := os.MkdirTemp("", "heddle-bench-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(temp)
			if len(clusters) == 0 {
				labs, err := walltime.StartLabs(cmd.Context(), heddle, p.Spark)
				if err != nil {
					return err
				}
				defer labs.Close()
				o.Clusters, p = []walltime.Cluster{labs.Heddle, labs.Stock}, labs.Programs
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
				fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s, run %d: %.1f s\n", job, cluster, run, took.Seconds())
			}
			r, err := walltime.Run(cmd.Context(), o)
			clean := o.Clusters[0].Run(cmd.Context(), "hdfs", "dfs", "-rm", "-r", "-f", "-skipTrash", o.Folder)
			if asJSON {
				return errors.Join(err, clean, json.NewEncoder(cmd.OutOrStdout()).Encode(r))
			}
			return errors.Join(err, clean, r.Print(cmd.OutOrStdout()))
		},
	}
	f := c.Flags()
	f.StringArrayVar(&clusters, "cluster", nil, "a running cluster, name=configuration-folder; at least two make sense")
	f.StringSliceVar(&only, "jobs", nil, "the jobs to run (default: all whose programs are there)")
	f.IntVar(&runs, "runs", 5, "runs of each job on each cluster")
	f.IntVar(&sizes.Text, "text-mb", 6, "size of the text whose words are counted, in MB")
	f.IntVar(&sizes.Terasort, "terasort-mb", 100, "size of what is sorted, in MB")
	f.StringVar(&p.Examples, "examples", "", "Hadoop's jar of MapReduce examples (with --cluster)")
	f.StringVar(&p.Streaming, "streaming", "", "Hadoop's jar of streaming (with --cluster)")
	f.StringVar(&p.Spark, "spark", os.Getenv("SPARK_HOME"), "folder of Spark; without one it's left out (default $SPARK_HOME)")
	f.StringVar(&folder, "folder", "/tmp/heddle-bench", "beginning of the name of a folder on the clusters' file system")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
