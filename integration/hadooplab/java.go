package hadooplab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/output"
)

// javaFlags allow Hadoop to reflect into the JDK, which Java 17 and later forbid otherwise.
var javaFlags = []string{
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
	"--add-opens=java.base/java.net=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"-XX:+IgnoreUnrecognizedVMOptions",
}

// quickStart makes Java start quickly and run more slowly later, which suits tests.
var quickStart = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}

func (l *Lab) classPath() string { return l.Conf() + ":" + filepath.Join(l.lib, "*") }

// javaCommand runs a class of Hadoop. Leading arguments that start with -D set configuration keys.
func (l *Lab) javaCommand(heap, class string, args ...string) *exec.Cmd {
	all := []string{"-Xmx" + heap}
	if l.options.Krb5 != "" {
		all = append(all, "-Djava.security.krb5.conf="+l.options.Krb5)
	}
	if !l.options.OwnJVM {
		all = append(all, quickStart...)
	}
	all = append(all, javaFlags...)
	all = append(all, "-Dhadoop.log.dir="+filepath.Join(l.dir, "log"), "-Dyarn.log.dir="+filepath.Join(l.dir, "log"), "-cp", l.classPath(), class)
	cmd := exec.Command("java", append(all, args...)...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	return cmd
}

// JavaCommand runs any class with the lab's configuration. Hadoop's jars follow the given class path.
func (l *Lab) JavaCommand(classPath, class string, args ...string) *exec.Cmd {
	cmd := l.javaCommand("512m", class, args...)
	own := slices.Index(cmd.Args, "-cp") + 1
	cmd.Args[own] = classPath + ":" + cmd.Args[own]
	return cmd
}

// Result is the result of a command.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code; −1 if a signal ended it
}

// Command is one of Hadoop's commands under way.
type Command struct {
	p              *process
	stdout, stderr output.Buffer
}

// Stderr returns what the command has written to standard error so far.
func (c *Command) Stderr() string { return c.stderr.String() }

// Ended reports whether the command has ended.
func (c *Command) Ended() bool {
	select {
	case <-c.p.done:
		return true
	default:
		return false
	}
}

// Wait waits until the command has ended, and returns its result. If ctx ends first, it kills the command.
func (c *Command) Wait(ctx context.Context) (Result, error) {
	select {
	case <-c.p.done:
	case <-ctx.Done():
		c.p.kill()
		return Result{c.stdout.String(), c.stderr.String(), -1}, ctx.Err()
	}
	return Result{c.stdout.String(), c.stderr.String(), c.p.cmd.ProcessState.ExitCode()}, nil
}

func (l *Lab) begin(env []string, class string, args ...string) (*Command, error) {
	cmd := l.javaCommand("512m", class, args...)
	cmd.Env = append(cmd.Env, env...)
	return l.BeginCommand(cmd)
}

// BeginCommand starts any command. The lab ends it at the latest. Call Wait afterwards.
func (l *Lab) BeginCommand(cmd *exec.Cmd) (*Command, error) {
	c := &Command{}
	cmd.Stdout, cmd.Stderr = &c.stdout, &c.stderr
	var err error
	c.p, err = l.starter.start(cmd)
	return c, err
}

// exec runs a class until it ends. A failure of the class itself is in Result, not in the error.
func (l *Lab) exec(ctx context.Context, env []string, class string, args ...string) (Result, error) {
	c, err := l.begin(env, class, args...)
	if err != nil {
		return Result{Code: -1}, err
	}
	r, err := c.Wait(ctx)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", class, strings.Join(args, " "), err)
	}
	return r, err
}

// java runs a class until it ends, and returns its standard output. The error has its standard error.
func (l *Lab) java(ctx context.Context, env []string, class string, args ...string) (string, error) {
	r, err := l.exec(ctx, env, class, args...)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("%s %s: exit code %d\n%s%s", class, strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout, err
}

// mains are the classes of Hadoop's commands. Those with a * take their subcommand as first argument.
var mains = map[string]string{
	"hadoop jar":              "org.apache.hadoop.util.RunJar",
	"hadoop version":          "org.apache.hadoop.util.VersionInfo",
	"hadoop fs":               "org.apache.hadoop.fs.FsShell",
	"hadoop key":              "org.apache.hadoop.crypto.key.KeyShell",
	"hadoop distcp":           "org.apache.hadoop.tools.DistCp",
	"hdfs dfs":                "org.apache.hadoop.fs.FsShell",
	"hdfs dfsadmin":           "org.apache.hadoop.hdfs.tools.DFSAdmin",
	"hdfs haadmin":            "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
	"hdfs cacheadmin":         "org.apache.hadoop.hdfs.tools.CacheAdmin",
	"hdfs crypto":             "org.apache.hadoop.hdfs.tools.CryptoAdmin",
	"hdfs ec":                 "org.apache.hadoop.hdfs.tools.ECAdmin",
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
	"yarn top":                "org.apache.hadoop.yarn.client.cli.TopCLI",
	"yarn schedulerconf":      "org.apache.hadoop.yarn.client.cli.SchedConfCLI",
	"yarn nodeattributes":     "org.apache.hadoop.yarn.client.cli.NodeAttributesCLI",
	"yarn daemonlog":          "org.apache.hadoop.log.LogLevel",
	"yarn version":            "org.apache.hadoop.util.VersionInfo",
	"yarn jar":                "org.apache.hadoop.util.RunJar",
	"mapred job":              "org.apache.hadoop.mapred.JobClient",
	"mapred queue":            "org.apache.hadoop.mapred.JobQueueClient",
}

// Run runs one of Hadoop's commands, such as "hdfs", "dfs", "-ls", "/", or with "class" any class. It returns the
// standard output. The error has the standard error as well.
func (l *Lab) Run(ctx context.Context, command ...string) (string, error) {
	return l.RunAs(ctx, "", command...)
}

// RunAs does the same as another user.
func (l *Lab) RunAs(ctx context.Context, user string, command ...string) (string, error) {
	class, args, err := classOf(command)
	if err != nil {
		return "", err
	}
	return l.java(ctx, asUser(user), class, args...)
}

// Try runs a command that may fail as a user; "" stands for this process's user. The error only says that it could not
// run.
func (l *Lab) Try(ctx context.Context, user string, command ...string) (Result, error) {
	class, args, err := classOf(command)
	if err != nil {
		return Result{Code: -1}, err
	}
	return l.exec(ctx, asUser(user), class, args...)
}

// Begin starts a command. Call Wait afterwards.
func (l *Lab) Begin(user string, command ...string) (*Command, error) {
	class, args, err := classOf(command)
	if err != nil {
		return nil, err
	}
	return l.begin(asUser(user), class, args...)
}

func asUser(user string) []string {
	if user == "" {
		return nil
	}
	return []string{"HADOOP_USER_NAME=" + user}
}

// classOf returns the class behind a command.
func classOf(command []string) (class string, args []string, err error) {
	if len(command) < 2 {
		return "", nil, fmt.Errorf("%q is not a command of Hadoop", command)
	}
	if command[0] == "class" {
		return command[1], command[2:], nil
	}
	class, ok := mains[command[0]+" "+command[1]]
	if !ok {
		return "", nil, fmt.Errorf("%q is not a command that hadooplab knows", command[:2])
	}
	args = command[2:]
	if rest, ok := strings.CutPrefix(class, "*"); ok {
		class, args = rest, command[1:]
	}
	return class, args, nil
}

// Script returns a shell script that does what one of Hadoop's commands does, such as "hadoop". Programs that look for
// the command find it.
func (l *Lab) Script(name string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\ncase $1 in\n")
	for _, command := range slices.Sorted(maps.Keys(mains)) {
		first, sub, _ := strings.Cut(command, " ")
		class, keeps := strings.CutPrefix(mains[command], "*")
		if first != name {
			continue
		}
		fmt.Fprintf(&b, "%s) ", sub)
		if !keeps {
			b.WriteString("shift; ")
		}
		fmt.Fprintf(&b, "set -- %s \"$@\";;\n", class)
	}
	java := l.javaCommand("512m", "")
	fmt.Fprintf(&b, "*) echo \"%s $1 is not known here\" >&2; exit 2;;\nesac\n", name)
	b.WriteString("exec")
	for _, arg := range java.Args[:len(java.Args)-1] {
		fmt.Fprintf(&b, " '%s'", arg)
	}
	b.WriteString(" \"$@\"\n")
	return b.String()
}
