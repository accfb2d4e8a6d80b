package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/roots"
	"heddle/cmd/heddle/internal/verdict"
	"heddle/conf"
)

// source says where the configuration comes from.
type source struct {
	dir       string
	overrides []string
	log       io.Writer // of a daemon; nil: standard error
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
		err = c.ValidateFor(conf.Client).Err()
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

// loadRole loads the configuration of a daemon. Without a configuration folder the daemon serves this machine only. id is that of a
// ResourceManager, or "".
func (s *source) loadRole(role conf.Role, id string) (*conf.Config, *logrus.Entry, error) {
	c, closed, report := verdict.Of(s.options(), role, id)
	if err := report.Err(); err != nil {
		return nil, nil, err
	}
	log := logger(c)
	if s.log != nil {
		log.Logger.SetOutput(s.log)
	}
	tell(log, report.Problems)
	roots.Warn(c, log)
	if closed != "" {
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
	check := newConfCheck(s)
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
