package hadooplab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// javaFlags let Hadoop reflect into the JDK, as it needs from Java 17 on.
var javaFlags = []string{
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
	"--add-opens=java.base/java.net=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"-XX:+IgnoreUnrecognizedVMOptions",
}

// quickStart trades speed in the long run for a quick start, which is what tests want.
var quickStart = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}

func (l *Lab) classPath() string { return l.Conf() + ":" + filepath.Join(l.lib, "*") }

// javaCommand runs a class of Hadoop. Arguments that start with -D before all others are the configuration's.
func (l *Lab) javaCommand(heap, class string, args ...string) *exec.Cmd {
	all := append([]string{"-Xmx" + heap}, quickStart...)
	all = append(all, javaFlags...)
	all = append(all, "-Dhadoop.log.dir="+filepath.Join(l.dir, "log"), "-Dyarn.log.dir="+filepath.Join(l.dir, "log"), "-cp", l.classPath(), class)
	cmd := exec.Command("java", append(all, args...)...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	return cmd
}

// java runs a class to its end and returns what it wrote to standard output; the error shows standard error.
func (l *Lab) java(ctx context.Context, env []string, class string, args ...string) (string, error) {
	cmd := l.javaCommand("512m", class, args...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p, err := l.starter.start(cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		return stdout.String(), fmt.Errorf("%s %s: %w", class, strings.Join(args, " "), ctx.Err())
	}
	if p.err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", class, strings.Join(args, " "), p.err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// mains are the classes behind Hadoop's commands. Those with a * take their subcommand as first argument.
var mains = map[string]string{
	"hadoop jar":              "org.apache.hadoop.util.RunJar",
	"hadoop fs":               "org.apache.hadoop.fs.FsShell",
	"hadoop distcp":           "org.apache.hadoop.tools.DistCp",
	"hdfs dfs":                "org.apache.hadoop.fs.FsShell",
	"hdfs dfsadmin":           "org.apache.hadoop.hdfs.tools.DFSAdmin",
	"hdfs haadmin":            "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
	"hdfs cacheadmin":         "org.apache.hadoop.hdfs.tools.CacheAdmin",
	"hdfs fsck":               "org.apache.hadoop.hdfs.tools.DFSck",
	"yarn app":                "*org.apache.hadoop.yarn.client.cli.ApplicationCLI",
	"yarn application":        "*org.apache.hadoop.yarn.client.cli.ApplicationCLI",
	"yarn applicationattempt": "*org.apache.hadoop.yarn.client.cli.ApplicationCLI",
	"yarn container":          "*org.apache.hadoop.yarn.client.cli.ApplicationCLI",
	"yarn node":               "org.apache.hadoop.yarn.client.cli.NodeCLI",
	"yarn queue":              "org.apache.hadoop.yarn.client.cli.QueueCLI",
	"yarn logs":               "org.apache.hadoop.yarn.client.cli.LogsCLI",
	"yarn cluster":            "org.apache.hadoop.yarn.client.cli.ClusterCLI",
	"yarn rmadmin":            "org.apache.hadoop.yarn.client.cli.RMAdminCLI",
	"yarn jar":                "org.apache.hadoop.util.RunJar",
	"mapred job":              "org.apache.hadoop.mapred.JobClient",
}

// Run runs one of Hadoop's commands, such as "hdfs", "dfs", "-ls", "/", or with "class" any class, and returns its
// standard output. The error holds standard error as well.
func (l *Lab) Run(ctx context.Context, command ...string) (string, error) {
	return l.RunAs(ctx, "", command...)
}

// RunAs is Run as another user.
func (l *Lab) RunAs(ctx context.Context, user string, command ...string) (string, error) {
	var env []string
	if user != "" {
		env = []string{"HADOOP_USER_NAME=" + user}
	}
	if len(command) < 2 {
		return "", fmt.Errorf("%q is not a command of Hadoop", command)
	}
	if command[0] == "class" {
		return l.java(ctx, env, command[1], command[2:]...)
	}
	class, ok := mains[command[0]+" "+command[1]]
	if !ok {
		return "", fmt.Errorf("%q is not a command that hadooplab knows", command[:2])
	}
	args := command[2:]
	if rest, ok := strings.CutPrefix(class, "*"); ok {
		class, args = rest, command[1:]
	}
	return l.java(ctx, env, class, args...)
}
