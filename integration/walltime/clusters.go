package walltime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"heddle/integration/hadooplab"
)

// Configured is a running cluster, by its configuration folder. Commands are looked up in PATH, but for those that programs
// names otherwise.
func Configured(name, conf string, programs map[string]string, env ...string) Cluster {
	return Cluster{name, func(ctx context.Context, command ...string) error {
		return execute(ctx, conf, programs, env, command)
	}}
}

func execute(ctx context.Context, conf string, programs map[string]string, env, command []string) error {
	path := command[0]
	if p := programs[path]; p != "" {
		path = p
	}
	cmd := exec.CommandContext(ctx, path, command[1:]...)
	cmd.Env = append(append(os.Environ(), "HADOOP_CONF_DIR="+conf), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, out.Bytes()[max(0, out.Len()-4000):])
	}
	return nil
}

// Labs are a stock Hadoop and a Heddle on this machine, with one HDFS.
type Labs struct {
	Heddle, Stock Cluster
	Programs      Programs
	labs          []*hadooplab.Lab
	temp          string
}

// StartLabs starts them. heddle is the binary; spark is $SPARK_HOME, or empty. Close ends them.
func StartLabs(ctx context.Context, heddle, spark string) (_ *Labs, err error) {
	l := &Labs{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.temp, err = os.MkdirTemp("", "heddle-bench-"); err != nil {
		return nil, err
	}
	start := func(o hadooplab.Options) (*hadooplab.Lab, error) {
		lab, err := hadooplab.New(ctx, o)
		if err == nil {
			l.labs = append(l.labs, lab)
		}
		return lab, err
	}
	stock, err := start(hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1})
	if err != nil {
		return nil, fmt.Errorf("a stock Hadoop: %w", err)
	}
	ours, err := start(hadooplab.Options{
		ResourceManager: true, NodeManagers: 1, Heddle: heddle,
		Site: map[string]string{"fs.defaultFS": stock.URI(), "dfs.client.use.datanode.hostname": "true"},
	})
	if err != nil {
		return nil, fmt.Errorf("a Heddle: %w", err)
	}
	l.Programs = Programs{Heddle: true, Spark: spark}
	if l.Programs.Examples, err = stock.Jar("hadoop-mapreduce-examples"); err != nil {
		return nil, err
	}
	if l.Programs.Streaming, err = stock.Jar("hadoop-streaming"); err != nil {
		return nil, err
	}
	programs := map[string]string{"heddle": heddle}
	var env []string
	if spark != "" {
		programs["spark-submit"] = filepath.Join(spark, "bin", "spark-submit")
		env = []string{"SPARK_HOME=" + spark, "PYTHONPATH=" + filepath.Dir(spark), "PYSPARK_PYTHON=python3", "SPARK_LOCAL_IP=127.0.0.1"}
		l.Programs.SparkArgs = []string{
			"--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1", "--executor-cores", "2",
			"--conf", "spark.yarn.jars=local:" + spark + "/jars/*", // instead of copying 300 MB
			"--conf", "spark.yarn.am.memory=512m", "--conf", "spark.ui.enabled=false",
		}
	}
	cluster := func(name string, lab *hadooplab.Lab) Cluster {
		return Cluster{name, func(ctx context.Context, command ...string) error {
			switch command[0] {
			case "hadoop", "hdfs", "yarn", "mapred":
				_, err := lab.Run(ctx, command...)
				return err
			}
			return execute(ctx, lab.Conf(), programs, env, command)
		}}
	}
	l.Heddle, l.Stock = cluster("heddle", ours), cluster("stock", stock)
	return l, nil
}

// Temp is a folder that Close removes.
func (l *Labs) Temp() string { return l.temp }

// Close ends everything and removes it.
func (l *Labs) Close() error {
	var errs []error
	for i := len(l.labs) - 1; i >= 0; i-- {
		errs = append(errs, l.labs[i].Close())
	}
	if l.temp != "" {
		errs = append(errs, os.RemoveAll(l.temp))
	}
	return errors.Join(errs...)
}
