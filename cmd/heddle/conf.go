package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/roots"
	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/protection"
	"heddle/rm/queue"
)

// source says where the configuration comes from.
type source struct {
	dir       string
	overrides []string
}

func (s *source) options() conf.Options {
	return conf.Options{Dir: conf.Locate(s.dir, nil), Overrides: s.overrides}
}

// loadConf loads the configuration for commands that talk to a cluster.
func loadConf(dir string, settings []string) (*conf.Config, error) {
	return conf.Load(conf.Options{Dir: conf.Locate(dir, nil), Overrides: settings})
}

// valid reads and validates the configuration without a word about warnings.
func (s *source) valid() (*conf.Config, error) {
	c, err := conf.Load(s.options())
	if err == nil {
		err = c.Validate().Err()
	}
	return c, err
}

// load reads and validates the configuration; warnings go to the log.
func (s *source) load() (*conf.Config, *logrus.Entry, error) {
	c, err := conf.Load(s.options())
	if err != nil {
		return nil, nil, err
	}
	report := c.Validate()
	if err := report.Err(); err != nil {
		return nil, nil, err
	}
	log := logger(c)
	tell(log, report.Problems)
	return c, log, nil
}

// tell logs what is wrong with a configuration.
func tell(log *logrus.Entry, problems []conf.Problem) {
	for _, p := range problems {
		entry := log.WithField("key", p.Key)
		if p.Source.File != "" {
			entry = entry.WithField("file", p.Source)
		}
		if p.Severity == conf.Warning {
			entry.Warn(p.Message)
		} else {
			entry.Info(p.Message)
		}
	}
}

// loadRole loads the configuration of a daemon. Without a configuration folder the daemon serves this machine only.
func (s *source) loadRole() (*conf.Config, *logrus.Entry, error) {
	c, log, err := s.load()
	if err != nil {
		return nil, nil, err
	}
	if err := protection.Check(c); err != nil {
		return nil, nil, err
	}
	if err := roots.Check(c, log); err != nil {
		return nil, nil, err
	}
	if closed := c.CloseUp(); closed != "" {
		log.Warn(closed)
	}
	return c, log, nil
}

// logger returns the log that the configuration asks for.
func logger(c *conf.Config) *logrus.Entry {
	l := logrus.New()
	l.SetOutput(os.Stderr)
	if level, err := logrus.ParseLevel(c.Text("heddle.log.level")); err == nil {
		l.SetLevel(level)
	}
	if c.Text("heddle.log.format") == "json" {
		l.SetFormatter(&logrus.JSONFormatter{})
	} else {
		// In colours, on a terminal, messages would not be quoted, and a name in one could command the terminal or forge a line.
		l.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "2006-01-02T15:04:05.000", DisableColors: true})
	}
	return logrus.NewEntry(l)
}

func newConf(s *source) *cobra.Command {
	c := &cobra.Command{Use: "conf", Short: "Look at configurations", GroupID: tools, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var asJSON bool
	check := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Validate a configuration folder without starting anything",
		Long: "Reads the configuration as the daemons do. Lists errors, with which the daemons would refuse to start,\n" +
			"suspicious settings, and settings of YARN that Heddle doesn't implement. Exits with 1 if there are errors.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := s.options()
			if len(args) == 1 {
				o.Dir = args[0]
			}
			report := conf.CheckWith(o)
			if c, err := conf.Load(o); err == nil && typesAreFine(c) {
				tree, err := queue.FromConf(c)
				if err == nil {
					report.Add(tree.Problems, nil)
				}
				report.Add(environ.Unset(c, environ.Of(c.Dir(), os.LookupEnv)), err)
			}
			write := report.WriteText
			if asJSON {
				write = report.WriteJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			if !report.OK() {
				return exitCode(1)
			}
			return nil
		},
	}
	check.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	get := &cobra.Command{
		Use:   "get KEY...",
		Short: "Print the effective values of keys, and which file sets them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := conf.Load(s.options())
			if err != nil {
				return err
			}
			var missing []string
			for _, key := range args {
				value, ok := c.Get(key)
				if !ok {
					missing = append(missing, key)
					continue
				}
				from := "default"
				if at, ok := c.Where(key); ok {
					from = fmt.Sprint(at)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s = %s\t(%s)\n", key, value, from)
			}
			if len(missing) > 0 {
				return fmt.Errorf("%s has no value", strings.Join(missing, ", "))
			}
			return nil
		},
	}
	c.AddCommand(check, get)
	return c
}

// typesAreFine reports whether the resource types can be read. If not, the report says so already, and queues can't be
// checked.
func typesAreFine(c *conf.Config) bool {
	_, err := c.ResourceTypes()
	return err == nil
}
