package xargs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are a command line of xargs.
type Options struct {
	Command []string // the command and its initial arguments; echo by default

	ArgFile   string // read items from this file; the commands then have this process's standard input
	Delimited bool   // items end at Delimiter, and nothing is quoted
	Delimiter byte
	EOF       string // a line that ends the input, "" if there is none
	Replace   string // -I: what stands for a line of the input in the arguments, "" without -I
	MaxLines  int    // at most so many lines for a command, 0 if there is no limit
	MaxArgs   int    // at most so many items for a command, 0 if there is no limit
	MaxChars  int    // at most so many bytes for a command line, each argument with a NUL
	Exit      bool   // -x: give up if MaxArgs or MaxLines don't fit into MaxChars
	SkipEmpty bool   // -r: run nothing for an empty input
	Procs     int    // at most so many commands at a time, 0 if there is no limit
	Verbose   bool   // -t: show each command line
	Ask       bool   // -p: a command runs only if the user confirms it
	Limits    bool   // --show-limits
	OpenTTY   bool   // -o: the commands' standard input is the terminal
	SlotVar   string // a variable of the commands' environment, different for those that run at a time

	KeepOrder  bool          // outputs are in the order of the input
	LineBuffer bool          // outputs mix, but not within a line
	Tries      int           // a command that fails is run so often at most, at least 1
	Timeout    time.Duration // a command that takes longer is ended, and has failed; 0: it may take any time
	Halt       Halt          // after which commands no further one begins
	Results    string        // a folder that gets the outputs and exit codes as files
	Bar        Bar
	Progress   *Progress // counts the commands; nil: not counted

	Place Place
	// Again says that commands may run again though they have printed something: outputs are printed when commands have ended.
	Again bool
	Help  bool

	Version  bool
	Warnings []string // of options that have no effect

	kernelChars int // as the constant, if it isn't that
}

// Place says where commands run.
type Place struct {
	Local    bool     // on this machine, though a cluster is configured
	Address  string   // of this machine, for the cluster's nodes
	Conf     string   // the folder of the configuration
	Settings []string // KEY=VALUE, above the configuration
	Queue    string
	Memory   int      // MB for each command that runs at a time
	Env      []string // names of variables that commands inherit on other machines
	Dir      string   // where commands run; "" is this process's folder where the node has it
	Probes   bool     // on the cluster, by probes of its nodes
	Clone    bool     // with Probes: commands may run twice at a time, on idle nodes
	Early    bool     // with Probes: commands are bound to nodes before these have room, and share their processors
	Preload  bool     // with Probes: the last argument names a file that a node may copy to memory while the command waits
	Nice     int      // with Probes: by how much their priority is below that of the user
}

// Bar says whether a progress bar is shown.
type Bar int

const (
	BarAuto   Bar = iota // on a terminal that the output doesn't go to
	BarAlways            // also on the terminal that the output goes to
	BarNever
)

// Limits of a command line in bytes. Linux takes a quarter of the stack, of which some is left to the environment.
const (
	defaultChars = 128 << 10
	maxChars     = 2<<20 - 2048

	kernelChars = 2 << 20 // with the environment, and a pointer to each argument and variable
	pointer     = 8
	slack       = 8192 // for what the kernel and an executor add
)

// argument says whether an option has an argument.
type argument int

const (
	none argument = iota
	required
	optional // only in the same word: -i{}, --replace={}
)

type option struct {
	short byte // 0 if it has none
	long  string
	arg   argument
	set   func(o *Options, value string) error
	meta  string
	help  string
}

// options lists all options, in the order of the help text: those of GNU xargs, then those of GNU parallel and ours.
func options() []option {
	return []option{
		{'0', "null", none, func(o *Options, _ string) error { return o.delimit("\\0") }, "", "items end with a NUL; quotes and backslashes are ordinary"},
		{'a', "arg-file", required, text(func(o *Options) *string { return &o.ArgFile }), "FILE", "read items from FILE, and leave standard input to the commands"},
		{'d', "delimiter", required, (*Options).delimit, "CHARACTER", "items end at CHARACTER; quotes and backslashes are ordinary"},
		{'E', "", required, text(func(o *Options) *string { return &o.EOF }), "END", "a line END ends the input"},
		{'e', "eof", optional, text(func(o *Options) *string { return &o.EOF }), "END", "the same; without END no line ends the input"},
		{'I', "", required, (*Options).replace, "R", "replace R in the arguments with a line of the input; one command for each line"},
		{'i', "replace", optional, (*Options).replace, "R", "the same; R is {} by default"},
		{'L', "", required, (*Options).maxLines, "N", "at most N lines that aren't blank for a command; implies -x"},
		{'l', "max-lines", optional, (*Options).maxLinesOr1, "N", "the same; N is 1 by default"},
		{'n', "max-args", required, (*Options).maxArgs, "N", "at most N items for a command"},
		{'o', "open-tty", none, flag(func(o *Options) *bool { return &o.OpenTTY }), "", "the commands' standard input is the terminal (on this machine only)"},
		{'P', "max-procs", required, number("-P", 0, math.MaxInt32, func(o *Options) *int { return &o.Procs }), "N", "run at most N commands at a time; 0: as many as possible (default 1)"},
		{'p', "interactive", none, flag(func(o *Options) *bool { return &o.Ask }), "", "ask on the terminal before each command; it runs if the answer begins with y"},
		{0, "process-slot-var", required, (*Options).slotVar, "NAME", "commands that run at a time have different numbers in the variable NAME"},
		{'r', "no-run-if-empty", none, flag(func(o *Options) *bool { return &o.SkipEmpty }), "", "run nothing if there are no items"},
		{'s', "max-chars", required, (*Options).maxBytes, "N", "command lines of at most N bytes (default 131072)"},
		{0, "show-limits", none, flag(func(o *Options) *bool { return &o.Limits }), "", "show what limits the length of command lines, on standard error"},
		{'t', "verbose", none, flag(func(o *Options) *bool { return &o.Verbose }), "", "show each command on standard error"},
		{0, "version", none, flag(func(o *Options) *bool { return &o.Version }), "", "show the version"},
		{'x', "exit", none, flag(func(o *Options) *bool { return &o.Exit }), "", "end if the items that -n or -L ask for don't fit into -s"},

		{'k', "keep-order", none, flag(func(o *Options) *bool { return &o.KeepOrder }), "", "print outputs in the order of the input, not as commands end"},
		{0, "line-buffer", none, flag(func(o *Options) *bool { return &o.LineBuffer }), "", "print each line as it comes, not each command's output as a whole"},
		{0, "retries", required, number("--retries", 1, 1000, func(o *Options) *int { return &o.Tries }), "N", "run a command that fails up to N times"},
		{0, "timeout", required, (*Options).timeout, "TIME", "end commands that take longer: 10, 1.5, 30s, 5m"},
		{0, "halt", required, (*Options).halt, "WHEN,WHY=N", "after N commands that have failed (why: fail), succeeded (success) or ended (done): begin no further one (when: soon), and end those that run as well (now)"},
		{0, "results", required, text(func(o *Options) *string { return &o.Results }), "DIR", "keep stdout, stderr, exit code and command line of the Nth command in DIR/N"},
		{0, "bar", none, func(o *Options, _ string) error { o.Bar = BarAlways; return nil }, "", "show progress, also on the terminal that has the output"},
		{0, "no-bar", none, func(o *Options, _ string) error { o.Bar = BarNever; return nil }, "", "show no progress"},

		{0, "local", none, flag(func(o *Options) *bool { return &o.Place.Local }), "", "run the commands on this machine, though a cluster is configured"},
		{0, "conf", required, text(func(o *Options) *string { return &o.Place.Conf }), "DIR", "configuration folder of the cluster (default $HADOOP_CONF_DIR)"},
		{'D', "define", required, func(o *Options, v string) error { o.Place.Settings = append(o.Place.Settings, v); return nil }, "KEY=VALUE", "set a configuration key"},
		{0, "address", required, text(func(o *Options) *string { return &o.Place.Address }), "HOST", "name or address by which the cluster's nodes reach this machine"},
		{0, "queue", required, text(func(o *Options) *string { return &o.Place.Queue }), "NAME", "queue of the cluster"},
		{0, "memory", required, number("--memory", 1, 1<<20, func(o *Options) *int { return &o.Place.Memory }), "MB", "memory of each command on the cluster (default 512)"},
		{0, "probes", none, flag(func(o *Options) *bool { return &o.Place.Probes }), "", "send commands straight to nodes by probes, within what is lent to short tasks, instead of holding containers"},
		{0, "clone", none, flag(func(o *Options) *bool { return &o.Place.Clone }), "", "with --probes: run second copies of commands on nodes without other work; the first result counts"},
		{0, "binding", required, func(o *Options, when string) error { return o.Place.SetBinding(when) }, "WHEN", "with --probes: late: nodes ask for commands when they have room (default); early: commands go to nodes at once, and share their processors"},
		{0, "stage", none, flag(func(o *Options) *bool { return &o.Place.Preload }), "", "with --probes: the last argument names a file on HDFS; HEDDLE_STAGED_INPUT names its copy in memory, if the node has made one"},
		{0, "nice", required, number("--nice", 0, 1000, func(o *Options) *int { return &o.Place.Nice }), "N", "with --probes: commands with a smaller N go first, of all users (default 0)"},
		{0, "env", required, func(o *Options, v string) error {
			o.Place.Env = append(o.Place.Env, strings.Split(v, ",")...)
			return nil
		}, "NAMES", "variables that commands inherit on the cluster, besides PATH, LANG, LC_* and TZ"},
		{0, "workdir", required, text(func(o *Options) *string { return &o.Place.Dir }), "DIR", "folder of the commands on the cluster (default: this one, where a node has it)"},
		{0, "help", none, flag(func(o *Options) *bool { return &o.Help }), "", "show this text"},
	}
}

// SetBinding says when commands are bound to nodes: "early" or "late".
func (p *Place) SetBinding(when string) (err error) {
	p.Early, err = BindsEarly(when)
	return err
}

// BindsEarly reads "early" or "late".
func BindsEarly(when string) (bool, error) {
	if when != "late" && when != "early" {
		return false, fmt.Errorf("the binding %q: give early or late", when)
	}
	return when == "early", nil
}

func flag(at func(*Options) *bool) func(*Options, string) error {
	return func(o *Options, _ string) error {
		*at(o) = true
		return nil
	}
}

func text(at func(*Options) *string) func(*Options, string) error {
	return func(o *Options, v string) error {
		*at(o) = v
		return nil
	}
}

func number(name string, low, high int, at func(*Options) *int) func(*Options, string) error {
	return func(o *Options, v string) error {
		n, err := parseNumber(name, v, low, high)
		if err == nil {
			*at(o) = n
		}
		return err
	}
}

func parseNumber(name, v string, low, high int) (int, error) {
	digits := strings.TrimLeft(v, " \t\n\v\f\r") // as strtol has it: blanks behind a number are none of it
	n, err := strconv.Atoi(digits)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(digits, "-"), err == nil && n > high:
		return 0, fmt.Errorf("value %s for %s option should be <= %d", v, name, high)
	case errors.Is(err, strconv.ErrRange), err == nil && n < low:
		return 0, fmt.Errorf("value %s for %s option should be >= %d", v, name, low)
	case err != nil:
		return 0, fmt.Errorf("invalid number %q for %s option", v, name)
	}
	return n, nil
}

func (o *Options) delimit(v string) error {
	c, err := delimiter(v)
	o.Delimited, o.Delimiter = true, c
	return err
}

// delimiter reads the character after -d: one byte, or an escape sequence of C.
func delimiter(v string) (byte, error) {
	if len(v) == 1 {
		return v[0], nil
	}
	if len(v) < 2 || v[0] != '\\' {
		return 0, fmt.Errorf("invalid input delimiter specification %s: the delimiter must be either a single character or an escape sequence starting with \\", v)
	}
	if i := strings.IndexByte(`abfnrtv\`, v[1]); i >= 0 && len(v) == 2 {
		return "\a\b\f\n\r\t\v\\"[i], nil
	}
	digits, base := v[1:], 8
	if v[1] == 'x' {
		digits, base = v[2:], 16
	}
	n, err := strconv.ParseUint(digits, base, 8)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("invalid escape sequence %s in input delimiter specification; character values must not exceed 0xff", v)
	case err != nil:
		return 0, fmt.Errorf("invalid escape sequence %s in input delimiter specification", v)
	}
	return byte(n), nil
}

func (o *Options) replace(v string) error {
	if v == "" {
		v = "{}"
	}
	o.only("--replace/-I/-i", &o.Replace)
	o.Replace = v
	return nil
}

// only forgets those of the options that exclude each other which came before one of them, and says so.
func (o *Options) only(name string, own any) {
	forget := func(other string, is bool) {
		if is {
			o.warn("options %s and %s are mutually exclusive, ignoring previous %s value", other, name, other)
		}
	}
	forget("--replace", o.Replace != "" && own != &o.Replace)
	forget("--max-lines", o.MaxLines != 0 && own != &o.MaxLines)
	forget("--max-args", o.MaxArgs != 0 && own != &o.MaxArgs)
	o.Replace, o.MaxLines, o.MaxArgs = "", 0, 0
}

func (o *Options) warn(format string, args ...any) {
	o.Warnings = append(o.Warnings, fmt.Sprintf(format, args...))
}

func (o *Options) maxLines(v string) error { return o.lines(v, "-L", "-L") }

func (o *Options) maxLinesOr1(v string) error {
	if v == "" {
		v = "1"
	}
	return o.lines(v, "-l", "--max-lines/-l")
}

func (o *Options) lines(v, short, name string) error {
	n, err := parseNumber(short, v, 1, math.MaxInt32)
	if err == nil {
		o.only(name, &o.MaxLines)
		o.MaxLines, o.Exit = n, true
	}
	return err
}

func (o *Options) maxArgs(v string) error {
	n, err := parseNumber("-n", v, 1, math.MaxInt32)
	if n == 1 && o.Replace != "" {
		return err // as in GNU xargs: -I takes one line anyway
	}
	if err == nil {
		o.only("--max-args/-n", &o.MaxArgs)
		o.MaxArgs = n
	}
	return err
}

// maxBytes takes more than possible for as much as possible, as GNU xargs does.
func (o *Options) maxBytes(v string) error {
	if n, err := strconv.Atoi(strings.TrimSpace(v)); n > maxChars && (err == nil || errors.Is(err, strconv.ErrRange)) {
		o.MaxChars = maxChars
		o.warn("value %s for -s option should be <= %d", v, maxChars)
		return nil
	}
	n, err := parseNumber("-s", v, 1, maxChars)
	o.MaxChars = n
	return err
}

func (o *Options) slotVar(v string) error {
	if strings.Contains(v, "=") {
		return errors.New("option --process-slot-var may not be set to a value which includes `='")
	}
	if v == "" {
		return errors.New("option --process-slot-var needs the name of a variable")
	}
	o.SlotVar = v
	return nil
}

func (o *Options) timeout(v string) error {
	d, err := time.ParseDuration(v)
	if seconds, e := strconv.ParseFloat(v, 64); e == nil && seconds > 0 && seconds < 1e9 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("invalid time %q for --timeout option: write seconds, or a number with a unit such as 500ms, 10s, 5m", v)
	}
	o.Timeout = d
	return nil
}

// Halt says when no further command begins. The zero value is never.
type Halt struct {
	Now                     bool // commands that run are ended as well
	Failed, Succeeded, Done int  // after so many that have failed, have succeeded, or have done either; 0: that is no reason
}

// halt reads what GNU parallel's option of that name takes, apart from percentages.
func (o *Options) halt(v string) error {
	o.Halt = Halt{}
	when, what, ok := strings.Cut(v, ",")
	if v == "never" {
		return nil
	}
	why, count, given := strings.Cut(what, "=")
	n := map[string]*int{"fail": &o.Halt.Failed, "success": &o.Halt.Succeeded, "done": &o.Halt.Done}[why]
	if !ok || !given || n == nil || when != "now" && when != "soon" {
		return fmt.Errorf("invalid argument %q for --halt option: write never, or now or soon, a comma, fail, success or done, =, and a number, such as soon,fail=1", v)
	}
	o.Halt.Now = when == "now"
	var err error
	*n, err = parseNumber("--halt", count, 1, math.MaxInt32)
	return err
}

// Parse reads the arguments of xargs. Options end at the first word that is none, or at --; the command follows.
func Parse(args []string) (Options, error) {
	o := Options{MaxChars: defaultChars, Procs: 1, Tries: 1}
	list := options()
	for len(args) > 0 {
		word := args[0]
		if len(word) < 2 || word[0] != '-' {
			break
		}
		args = args[1:]
		if word == "--" {
			break
		}
		var err error
		if word[1] == '-' {
			args, err = o.long(list, word[2:], args)
		} else {
			args, err = o.short(list, word[1:], args)
		}
		if err != nil {
			return o, err
		}
	}
	if o.Command = args; len(args) == 0 {
		o.Command = []string{"echo"}
	}
	if o.Delimited && o.EOF != "" {
		o.warn("the -E option has no effect if -0 or -d is used.")
	}
	if o.KeepOrder && o.LineBuffer {
		return o, errors.New("--keep-order and --line-buffer exclude each other")
	}
	for _, c := range o.Command {
		if strings.IndexByte(c, 0) >= 0 {
			return o, fmt.Errorf("the argument %q has a NUL", c)
		}
	}
	return o, nil
}

func (o *Options) long(list []option, word string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(word, "=")
	var found []option
	for _, x := range list {
		if x.long == name && name != "" {
			found = []option{x}
			break
		}
		if name != "" && strings.HasPrefix(x.long, name) {
			found = append(found, x)
		}
	}
	found = gnusFirst(found)
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("unrecognized option '--%s'", name)
	case len(found) > 1:
		var names []string
		for _, x := range found {
			names = append(names, "'--"+x.long+"'")
		}
		return nil, fmt.Errorf("option '--%s' is ambiguous; possibilities: %s", name, strings.Join(names, " "))
	}
	x := found[0]
	switch {
	case x.arg == none && given:
		return nil, fmt.Errorf("option '--%s' doesn't allow an argument", x.long)
	case x.arg == required && !given && len(rest) == 0:
		return nil, fmt.Errorf("option '--%s' requires an argument", x.long)
	case x.arg == required && !given:
		value, rest = rest[0], rest[1:]
	}
	return rest, x.set(o, value)
}

// gnusFirst leaves only options of GNU xargs, if there are any: the beginning of a name means what it means there.
func gnusFirst(found []option) (gnus []option) {
	for _, x := range found {
		if !slices.Contains(notGNUs, x.long) {
			gnus = append(gnus, x)
		}
	}
	if len(gnus) > 0 {
		return gnus
	}
	return found
}

// notGNUs are the options that GNU xargs hasn't.
var notGNUs = []string{
	"keep-order", "line-buffer", "halt", "retries", "timeout", "results", "bar", "no-bar", "local", "conf", "define", "address", "queue", "memory", "probes", "clone",
	"binding", "stage", "nice", "env", "workdir",
}

// short reads a word of options of one letter, the last of which may have an argument: -0rn1.
func (o *Options) short(list []option, word string, rest []string) ([]string, error) {
	for word != "" {
		c := word[0]
		word = word[1:]
		var x *option
		for i := range list {
			if list[i].short == c {
				x = &list[i]
			}
		}
		if x == nil {
			return nil, fmt.Errorf("invalid option -- '%c'", c)
		}
		value := ""
		switch {
		case x.arg == optional, x.arg == required && word != "":
			value, word = word, ""
		case x.arg == required && len(rest) == 0:
			return nil, fmt.Errorf("option requires an argument -- '%c'", c)
		case x.arg == required:
			value, rest = rest[0], rest[1:]
		}
		if err := x.set(o, value); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// Usage describes the options.
func Usage() string {
	var b strings.Builder
	for _, x := range options() {
		if x.help == "" {
			continue
		}
		name := "    "
		if x.short != 0 {
			name = "-" + string(x.short)
			if x.long != "" {
				name += ", "
			}
		}
		if x.long != "" {
			name += "--" + x.long
		}
		switch {
		case x.arg == required && x.long != "":
			name += "=" + x.meta
		case x.arg == required:
			name += " " + x.meta
		case x.arg == optional && x.long != "":
			name += "[=" + x.meta + "]"
		case x.arg == optional:
			name += "[" + x.meta + "]"
		}
		fmt.Fprintf(&b, "  %-28s %s\n", name, x.help)
	}
	return strings.TrimRight(b.String(), "\n")
}
