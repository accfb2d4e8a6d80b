// Package command has heddle's commands for users and operators of a cluster. They follow Hadoop's yarn command: the
// same words, options, tables, messages and exit codes, so that people's habits and scripts keep working, on Heddle's
// ResourceManager and on YARN's.
//
// Like yarn's, tables come from YARN's client protocol, because REST lacks some of their contents: the addresses of
// applications' own web pages, the states of attempts, and one form for the queues of all schedulers. With --json a
// command prints REST's answer unchanged.
//
// Heddle differs where that helps: a wrong command line always exits with 255, exceptions are one line, and a silent
// ResourceManager is given up soon. The folder testdata/yarn has what yarn prints.
//
// It is large because there are many commands. Each has its file, and they share nothing but their session.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/cmd/internal/program"
	"heddle/conf"
	"heddle/internal/plain"
	"heddle/yarn/ipc"
)

// Group is the group of these commands in the help.
const Group = "cluster"

// failed is the status -1, with which yarn's commands end after wrong usage or for things that don't exist.
const failed = program.Exit(255)

// Load loads the configuration of a folder, with some settings in the form of -D key=value. "" stands for the default folder.
type Load func(dir string, settings []string) (*conf.Config, error)

// All returns the commands.
func All(load Load) []*cobra.Command {
	var out []*cobra.Command
	for _, v := range verbs() {
		out = append(out, v.command(load))
	}
	return out
}

func verbs() []verb {
	return []verb{application, attempt, container, node, queue, clusterInfo, rmadmin, schedulerConf, daemonLog, logsVerb, top, kerbname, version}
}

// verb is one command.
type verb struct {
	name, alias string
	title       string // in the usage
	short       string
	unknown     program.Exit // the status for unknown options; 0: that of any error
	options     func() []option.Option
	run         func(*session, *option.Line) error
}

// session is one run of a command.
//
// It has many methods because each command is one.
type session struct {
	context.Context
	out, err io.Writer
	conf     *conf.Config
	title    string
	options  *option.Set
	json     bool
	opened   *cluster.Cluster
	closers  []func() error
	// now and zone are the clock.
	now  func() time.Time
	zone *time.Location
}

func (v verb) command(load Load) *cobra.Command {
	c := &cobra.Command{
		Use: v.name, Short: v.short, GroupID: Group,
		DisableFlagParsing: true, // options with one dash
		RunE: func(cmd *cobra.Command, args []string) error {
			s := &session{Context: cmd.Context(), out: cmd.OutOrStdout(), err: plain.Writer{W: cmd.ErrOrStderr()}, now: time.Now, zone: time.Local}
			return v.start(s, load, args)
		},
	}
	if v.alias != "" {
		c.Aliases = []string{v.alias}
	}
	c.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		// Only writing to standard output can fail here.
		_ = v.set().WriteUsage(cmd.OutOrStdout(), v.title)
	})
	return c
}

func (v verb) set() *option.Set {
	set := option.NewSet(v.options()...)
	set.Add(
		option.Option{Name: "help", Long: "h", Help: "Shows this help."},
		option.Option{Name: "json", Help: "Prints the REST API's JSON instead of a table."},
		option.Option{Name: "conf", Arg: "Folder or File", Help: "Reads this configuration folder instead of $HADOOP_CONF_DIR, or this file in addition."},
		option.Option{Name: "D", Long: "define", Arg: "Key=Value", Help: "Sets a configuration key."},
		option.Option{Name: "fs", Arg: "URI", Hidden: true},
		option.Option{Name: "jt", Arg: "Address", Hidden: true},
		option.Option{Name: "clusterId", Arg: "Cluster ID", Hidden: true},
	)
	return set
}

// start reads the command line and the configuration, and runs the command.
func (v verb) start(s *session, load Load, args []string) error {
	s.title, s.options = v.title, v.set()
	line, err := s.options.Parse(args)
	var missing *option.MissingArgumentError
	switch {
	case errors.As(err, &missing):
		fmt.Fprintln(s.out, "Missing argument for options")
		err = s.usage()
		fmt.Fprintf(s.err, "-%s needs a value.\n", missing.Option) // below all the options, where it is seen
		return err
	case err != nil:
		err = fmt.Errorf("%w; heddle %s -help lists the options", err, v.name)
		if v.unknown != 0 {
			fmt.Fprintln(s.err, err)
			return v.unknown
		}
		return err
	case line.Has("help"):
		return s.options.WriteUsage(s.out, v.title)
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && s.options.Has(args[0]) {
		fmt.Fprintf(s.err, "%s is not a command of its own: did you mean heddle %s -%s?\n", args[0], v.name, strings.Join(args, " "))
		return failed
	}
	s.json = line.Has("json")
	settings := line.Values("D")
	if fs := line.Value("fs"); fs != "" {
		settings = append(settings, "fs.defaultFS="+fs)
	}
	if jt := line.Value("jt"); jt != "" {
		settings = append(settings, "yarn.resourcemanager.address="+jt)
	}
	if s.conf, err = loadWith(load, line.Value("conf"), settings); err != nil {
		return err
	}
	defer s.close()
	return tidy(v.run(s, line))
}

// loadWith loads a configuration. where is a folder, or a file to read after the default folder.
func loadWith(load Load, where string, settings []string) (*conf.Config, error) {
	info, err := os.Stat(where)
	switch {
	case where == "":
		return load("", settings)
	case err != nil:
		return nil, fmt.Errorf("-conf: %w", err)
	case info.IsDir():
		return load(where, settings)
	}
	c, err := load("", settings)
	if err != nil {
		return nil, err
	}
	if where, err = filepath.Abs(where); err != nil {
		return nil, err
	}
	return c.With(where)
}

// tidy reduces a server's exception to its message, without class and stack.
func tidy(err error) error {
	var remote *ipc.RemoteError
	if errors.As(err, &remote) {
		return errors.New(message(err))
	}
	return err
}

// message returns the message of an error. Of a server's exception it returns the text alone.
func message(err error) string {
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) {
		return err.Error()
	}
	text := remote.Message()
	for {
		class, rest, ok := strings.Cut(text, ": ")
		if !ok || !strings.Contains(class, ".") || strings.ContainsAny(class, " '\"/") {
			return text
		}
		text = rest
	}
}

// cluster returns the cluster of the configuration.
func (s *session) cluster() (*cluster.Cluster, error) {
	if s.opened == nil {
		c, err := cluster.New(s.conf)
		if err != nil {
			return nil, err
		}
		s.opened = c
	}
	return s.opened, nil
}

// close releases what the command has opened. Nothing was written to any of it, so errors don't matter.
func (s *session) close() {
	for _, c := range s.closers {
		_ = c()
	}
	if s.opened != nil {
		s.opened.Close()
	}
}

// usage prints how to use the command, after wrong usage.
func (s *session) usage() error {
	if err := s.options.WriteUsage(s.out, s.title); err != nil {
		return err
	}
	return failed
}

// invalid answers a command line that asks for nothing.
func (s *session) invalid() error {
	fmt.Fprintln(s.err, "Invalid Command Usage : ")
	return s.usage()
}

// print writes to standard output. A string among the arguments may come from any user, and is printed on one line.
func (s *session) print(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = plain.Cell(text)
		}
	}
	fmt.Fprintf(s.out, format, args...)
}

// write writes a text of several lines to standard output.
func (s *session) write(text string) { fmt.Fprint(s.out, plain.Text(text)) }

// field writes a line of a report.
func field(s *session, name, value string) { s.print("\t%s : %s\n", name, value) }

// paragraph is field for a value that may have several lines.
func paragraph(s *session, name, value string) { s.write("\t" + name + " : " + value + "\n") }
