// Package streaming reads the command line of heddle mr, whose options are those of Hadoop Streaming. It depends on nothing of what runs the job,
// so that its fuzz target is small, and fast.
package streaming

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"heddle/internal/nearness"
)

// Options are a command line as it was read. Make them with New.
type Options struct {
	flags *flag.FlagSet

	Inputs, Files, Archives                 []string
	Output, Mapper, Combiner, Reducer, Name string
	Speculation, SlowStart                  string
	Freeze                                  bool
	Packed                                  bool // CombineTextInputFormat: one mapper reads several small files
	Reduces                                 int
	ReducesGiven                            bool              // -numReduceTasks is on the line
	Settings                                map[string]string // of -D
	Definitions                             []string          // the same as they were written, in their order
	Env                                     map[string]string // of -cmdenv

	Conf       string // a configuration folder, or a file of settings for the job
	Binary     string
	JSON       bool
	Quiet      bool
	Verbose    bool
	Background bool

	format      string
	environment list
}

// list collects the values of an option that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

// commas collects values that are separated by commas, of an option that may be repeated.
type commas struct{ to *[]string }

func (c commas) String() string { return "" }

func (c commas) Set(v string) error {
	*c.to = append(*c.to, splitInputs(v)...)
	return nil
}

// splitInputs splits at commas, except for those inside braces, which separate alternatives of a pattern.
func splitInputs(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0:
			if part := strings.TrimSpace(s[from:i]); part != "" {
				out = append(out, part)
			}
			from = i + 1
		case s[i] == '{':
			depth++
		case s[i] == '}' && depth > 0:
			depth--
		}
	}
	return out
}

// New returns the options of an empty line.
func New() *Options {
	o := &Options{}
	f := flag.NewFlagSet("mr", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.flags = f
	f.Var(commas{&o.Inputs}, "input", "file, directory (with all below it) or pattern `PATH`; may be repeated")
	f.StringVar(&o.Output, "output", "", "`DIR` for the output, which must not exist")
	f.StringVar(&o.Mapper, "mapper", "", "`COMMAND` that turns input lines into output lines")
	f.StringVar(&o.Combiner, "combiner", "", "`COMMAND` that reduces a map task's own output")
	f.StringVar(&o.Reducer, "reducer", "", "`COMMAND` that reads sorted lines; without one the sorted lines are the output; NONE: don't sort either")
	f.IntVar(&o.Reduces, "numReduceTasks", -1, "`N` reduce tasks; with 0 the mappers' output is the job's (default 1)")
	f.StringVar(&o.format, "inputformat", "", "`FORMAT`: TextInputFormat, or CombineTextInputFormat, which lets one mapper read several small files")
	f.Var((*list)(&o.Files), "file", "local `FILE` for the commands; may be repeated")
	f.Var(commas{&o.Files}, "files", "files `A,B` for the commands, local or with a scheme; #name changes the name")
	f.Var(commas{&o.Archives}, "archives", "archives `A,B`, unpacked for the commands")
	f.Var(&o.environment, "cmdenv", "variable `NAME=VALUE` of the commands' environment; may be repeated")
	f.Var((*list)(&o.Definitions), "D", "setting `KEY=VALUE` of the job; may be repeated")
	f.Var((*list)(&o.Definitions), "jobconf", "the same as -D `KEY=VALUE`")
	f.StringVar(&o.Speculation, "speculation", "", "`RULE` for slow tasks: esplash and late copy them, split gives the rest of their input to idle containers; none (default)")
	f.BoolVar(&o.Freeze, "freeze", false, "if a copy of a slow task finds no container, suspend a task with slack to make room; for jobs without reduces, in queues that suspend")
	f.StringVar(&o.SlowStart, "slowstart", "", "`RULE` that says when reduces begin: omo (as late as their shuffle allows), or the share of maps that have ended, 0.05 to 1.0")
	f.StringVar(&o.Name, "name", "", "`NAME` of the job")
	f.StringVar(&o.Conf, "conf", "", "configuration folder `DIR` (default $HADOOP_CONF_DIR), or a file of settings for the job")
	f.StringVar(&o.Binary, "binary", "", "heddle `FILE` to run on the nodes, if their system differs from this machine's")
	f.BoolVar(&o.JSON, "json", false, "print a report as JSON when the job has ended")
	f.BoolVar(&o.Quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.Verbose, "verbose", false, "print each step")
	f.BoolVar(&o.Background, "background", false, "submit the job, print its id, and exit")
	return o
}

// Usage lists the options, one on a line.
func (o *Options) Usage() string {
	var b strings.Builder
	b.WriteString("Options:\n")
	o.flags.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %-28s %s\n", strings.TrimRight("-"+f.Name+" "+name, " "), text)
	})
	return strings.TrimRight(b.String(), "\n")
}

// notSupported has the options of Hadoop Streaming that name Java classes, and what happens instead.
var notSupported = map[string]string{
	"outputformat": "lines of text are written", "partitioner": "lines are partitioned by the hash of their keys",
	"inputreader": "lines of text are read", "io": "lines of text are read and written", "libjars": "no Java runs",
}

// separate splits -Dkey=value, a form that Hadoop allows, into two arguments.
func separate(args []string) []string {
	var out []string
	for _, a := range args {
		if rest, ok := strings.CutPrefix(a, "-D"); ok && strings.Contains(rest, "=") && rest[0] != '=' {
			out = append(out, "-D", rest)
			continue
		}
		out = append(out, a)
	}
	return out
}

// Parse reads a command line. The error is flag.ErrHelp where the line asks for help; others begin with the command's name, and are for people.
func (o *Options) Parse(args []string) error {
	for _, a := range args {
		if why, ok := notSupported[strings.TrimLeft(a, "-")]; ok && strings.HasPrefix(a, "-") {
			return fmt.Errorf("mr: %s is not supported: %s", a, why)
		}
	}
	if err := o.flags.Parse(separate(args)); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("mr: %w%s (heddle mr -help lists the options)", err, o.meant(err))
	}
	if o.flags.NArg() > 0 {
		return fmt.Errorf("mr: unexpected argument %q: put quotes around commands with blanks", o.flags.Arg(0))
	}
	switch o.format[strings.LastIndexByte(o.format, '.')+1:] {
	case "", "TextInputFormat":
	case "CombineTextInputFormat":
		o.Packed = true
	default:
		return fmt.Errorf("mr: -inputformat %s is not supported: use TextInputFormat or CombineTextInputFormat", o.format)
	}
	o.flags.Visit(func(f *flag.Flag) { o.ReducesGiven = o.ReducesGiven || f.Name == "numReduceTasks" })
	var err error
	if o.Settings, err = pairs(o.Definitions, "-D", "KEY"); err == nil {
		o.Env, err = pairs(o.environment, "-cmdenv", "NAME")
	}
	return err
}

// meant returns a question for a user who has misspelt an option, as the error says, or "".
func (o *Options) meant(err error) string {
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	meant := nearness.Nearest(name, func(yield func(string) bool) {
		more := true
		o.flags.VisitAll(func(f *flag.Flag) { more = more && yield(f.Name) })
	})
	if meant == "" {
		return ""
	}
	return "; did you mean -" + meant + "?"
}

// pairs returns the values of an option, each of the form key=value.
func pairs(values []string, option, key string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range values {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("mr: %s %s: write %s=VALUE", option, text, key)
		}
		out[k] = v
	}
	return out, nil
}
