// Package whatif is the command heddle what-if: what a recorded load would have met under another configuration.
package whatif

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/internal/dashes"
	"heddle/conf"
	"heddle/internal/bounded"
	"heddle/internal/whole"
	"heddle/internal/within"
	"heddle/sim/trace"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/gate"
	"heddle/sim/whatif/load"
	"heddle/sim/whatif/page"
	"heddle/yarn/records"
)

// Exit codes besides 0 and 1. Their messages were printed already.
const (
	ExitGate    = 3 // a rule of -gate fails
	ExitRefused = 4 // the backtest failed: there is no answer
)

// flags of the command.
type flags struct {
	record string
	change change.Request
	gaps   bool
	anyway bool
	json   bool
	html   string
	gate   string
	hide   string // where to write the record without names

	add   string
	trace trace.Options
	addAM string
	slot  string
	addAt string

	submitted string
	grade     int
	conf      string
	define    []string
	load      func(dir string, define []string) (*conf.Config, error)
}

// Command is heddle what-if. exit makes the error that ends the program with a code, load reads a configuration.
func Command(group string, exit func(int) error, load func(dir string, define []string) (*conf.Config, error)) *cobra.Command {
	o := &flags{load: load}
	c := &cobra.Command{
		Use:   "what-if -record LOG|DIR",
		Short: "Say what a recorded load would have met under another configuration",
		Long: "Plays the load that heddle rm --record recorded under the configuration of then and under a changed one, through the scheduler of\n" +
			"heddle rm, and prints waits, times, shares, preemptions and cost before and after, by queue and user, with error bars, and who loses.\n" +
			"It first plays what was recorded, unchanged: error bars come from that, and if it misses the record there is no answer (exit code 4).\n" +
			"The same record and options give the same output. Flags may have one dash or two.",
		GroupID: group, DisableFlagParsing: true, Args: cobra.ArbitraryArgs, // dashes.Parse looks at them
		Example: "  heddle what-if -record events.log -scheduler new/capacity-scheduler.xml -html answer.html\n" +
			"  heddle what-if -record /var/log/heddle/records -nodes -10 -policy root.dev:order=fair -gate rules.txt\n" +
			"  heddle what-if -submit queue=root.prod,user=ann,containers=20,memory=2048,seconds=60",
	}
	f := c.Flags()
	f.StringVar(&o.record, "record", "", "record of heddle rm --record, or a folder with those of all leaders")
	f.StringVar(&o.change.Scheduler, "scheduler", "", "queues: a capacity-scheduler.xml or fair-scheduler.xml (default: as recorded)")
	f.StringArrayVar(&o.change.Policies, "policy", nil, "scheduler=capacity|fair|fifo, preemption=on|off, [QUEUE:]order=NAME or [QUEUE:]stage=NAME; may be repeated")
	f.StringArrayVar(&o.change.Set, "set", nil, "KEY=VALUE of a key that schedulers heed; may be repeated")
	f.StringSliceVar(&o.change.Nodes, "nodes", nil, "+N or -N nodes, with @LABEL those with a label; added ones are like most of the others")
	f.StringVar(&o.change.Speed, "speed", "", "how fast nodes are, such as 2x: containers run so much shorter")
	f.StringArrayVar(&o.change.Map, "map", nil, "QUEUE=QUEUE: applications of a queue of the record go to another one; may be repeated")
	f.StringVar(&o.add, "add", "", "file with jobs that come besides (.tr of Hawk, .tsv of SWIM, .json of SLS, SYNTH or Rumen)")
	f.StringVar(&o.trace.Format, "add-format", "", "format of -add: "+strings.Join(trace.Formats, ", ")+" (default: by its name and content)")
	f.StringVar(&o.trace.Queue, "add-queue", "root.default", "queue of jobs of -add for which it names none")
	f.StringVar(&o.trace.User, "add-user", "user", "user of jobs of -add for which it names none")
	f.StringVar(&o.addAM, "add-am", "1024,1", "memory in MB and vcores of their ApplicationMasters; 0,0: they run elsewhere")
	f.StringVar(&o.slot, "add-slot", "1024,1", "memory in MB and vcores of their tasks for which it names none")
	f.StringVar(&o.addAt, "add-at", "0s", "when the first of them comes, after the record's beginning")
	f.StringVar(&o.submitted, "submit", "", usageOfSubmit)
	f.IntVar(&o.grade, "grade", 12, "how many submissions of the record are forecast, and compared with what happened, for the error bars of -submit")
	f.StringVar(&o.conf, "conf", "", "configuration folder of the cluster that -submit asks without -record (default $HADOOP_CONF_DIR)")
	f.StringArrayVarP(&o.define, "define", "D", nil, "set a configuration key: -D key=value")
	f.StringVar(&o.gate, "gate", "", "file with rules: exit code 3 if one fails")
	f.StringVar(&o.html, "html", "", "write a page with plots to this file")
	f.StringVar(&o.hide, "anonymize", "", "write the record to this file, or a folder of records to this folder, with numbers for names, and do nothing else")
	f.BoolVar(&o.json, "json", false, "print everything as JSON")
	f.BoolVar(&o.gaps, "gaps", false, "admit times that no record covers")
	f.BoolVar(&o.anyway, "anyway", false, "answer even if the backtest fails")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		help, err := dashes.Parse(cmd.CommandPath(), f, args)
		if help {
			return cmd.Help()
		}
		if err != nil {
			return dashes.Meant(err, cmd.CommandPath(), f)
		}
		if o.submitted != "" {
			return o.submit(cmd.Context(), cmd.OutOrStdout())
		}
		// It computes for a minute or more: a signal ends it meanwhile.
		code, err := within.Do(cmd.Context(), func() (int, error) { return o.run(cmd.OutOrStdout(), cmd.ErrOrStderr()) })
		if err != nil || code == 0 {
			return err
		}
		return exit(code)
	}
	return c
}

func (o *flags) run(out, progress io.Writer) (code int, err error) {
	if o.record == "" {
		return 0, errors.New("name the record: -record LOG, or a folder with those of all leaders (heddle rm --record writes them)")
	}
	if o.hide != "" {
		return 0, anonymize(o.record, o.hide)
	}
	rules, err := o.rules()
	if err != nil {
		return 0, err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(200)) // most of what is read stays
	}
	begin := time.Now()
	l, err := load.Open(o.record, load.Options{Gaps: o.gaps})
	if err != nil {
		return 0, err
	}
	read := time.Since(begin)
	ask, err := o.ask(l)
	if err != nil {
		return 0, err
	}
	r, err := whatif.Answer(l, ask)
	var refused *whatif.Refused
	if errors.As(err, &refused) {
		fmt.Fprintln(progress, "heddle:", whatif.Clean(refused.Error()))
		return ExitRefused, nil
	}
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(progress, "read in %.1f s, played in %.1f s\n", read.Seconds(), (time.Since(begin) - read).Seconds())
	if err := o.write(out, r); err != nil {
		return 0, err
	}
	return judge(out, progress, o.json, rules, r)
}

// judge applies the rules of a gate.
func judge(out, progress io.Writer, json bool, rules []gate.Rule, r *whatif.Report) (code int, err error) {
	if len(rules) == 0 {
		return 0, nil
	}
	verdicts, err := gate.Check(rules, r)
	if err != nil {
		return 0, fmt.Errorf("-gate: %w", err)
	}
	to := out
	if json {
		to = progress
	}
	passes, err := gate.Write(to, verdicts)
	if err == nil && !passes {
		code = ExitGate
	}
	return code, err
}

// maxRules bounds a file of rules, in bytes.
const maxRules = 1 << 20

func (o *flags) rules() ([]gate.Rule, error) {
	if o.gate == "" {
		return nil, nil
	}
	text, err := bounded.ReadFile(o.gate, maxRules)
	if err != nil {
		return nil, fmt.Errorf("-gate: %w", err)
	}
	rules, err := gate.ReadRules(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("-gate %s: %w", o.gate, err)
	}
	return rules, nil
}

// ask holds what is asked of a load.
func (o *flags) ask(l *load.Load) (a whatif.Ask, err error) {
	a.Anyway = o.anyway
	a.Options, a.Changes, err = o.change.Options(l)
	a.Notes = o.change.Notes
	if err != nil || o.add == "" {
		return a, err
	}
	if o.trace.AM, err = amount("add-am", o.addAM); err != nil {
		return a, err
	}
	if o.trace.Slot, err = amount("add-slot", o.slot); err != nil {
		return a, err
	}
	o.trace.BlockMB, o.trace.RateMB = 128, 10
	at, err := time.ParseDuration(o.addAt)
	if err != nil || at < 0 {
		return a, fmt.Errorf("-add-at %s: give a duration such as 2h30m", o.addAt)
	}
	jobs, err := trace.Open(o.add, o.trace)
	if err != nil {
		return a, fmt.Errorf("-add: %w", err)
	}
	a.Options.Add = change.Apps(jobs, l.Begin+at.Milliseconds())
	a.Changes = append(a.Changes, fmt.Sprintf("%d jobs of %s besides", len(jobs), o.add))
	return a, nil
}

// amount reads memory,vcores.
func amount(flag, text string) (records.Resource, error) {
	memory, vcores, _ := strings.Cut(text, ",")
	m, err := strconv.ParseInt(strings.TrimSpace(memory), 10, 32)
	v, err2 := strconv.ParseInt(strings.TrimSpace(vcores), 10, 32)
	if errors.Join(err, err2) != nil || m < 0 || v < 0 {
		return records.Resource{}, fmt.Errorf("-%s %s: give memory in MB and vcores, such as 1024,1", flag, text)
	}
	return records.NewResource(m, v), nil
}

// write writes the answer. A page is whole, or isn't there.
func (o *flags) write(out io.Writer, r *whatif.Report) error {
	if o.html != "" {
		var text bytes.Buffer
		if err := page.Write(&text, r); err != nil {
			return err
		}
		if err := whole.Write(o.html, ".what-if-", 0o644, text.Bytes()); err != nil {
			return err
		}
	}
	if o.json {
		return r.WriteJSON(out)
	}
	return r.WriteTable(out)
}
