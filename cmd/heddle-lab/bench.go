package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"heddle/cmd/internal/collector"
	"heddle/cmd/internal/program"
	"heddle/conf"
	"heddle/integration/load"
	"heddle/nm/proc"
	"heddle/yarn/records"
)

func newBench(s *source) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure a cluster"}
	c.AddCommand(newBenchRM(s), newBenchJobs(), newBenchSuspend(), newBenchSpeculate(), newBenchStages(), newBenchProbes(), newBenchPreempt())
	return c
}

// rmBench is the benchmark of a ResourceManager.
type rmBench struct {
	load.Options
	source                     *source
	memory, cores, containerMB int64
	asJSON, stock, busy        bool
	runs                       int
	sidesOf                    sideFlags
}

func newBenchRM(s *source) *cobra.Command {
	b := &rmBench{source: s}
	c := &cobra.Command{
		Use:   "rm",
		Short: "Load a ResourceManager, Heddle's or YARN's, with simulated nodes and ApplicationMasters",
		Long: `Simulated NodeManagers and ApplicationMasters speak YARN's protocols to the ResourceManager that the configuration
names. Without a configuration, one is started for the measurement. Without --rate, every ApplicationMaster asks for as many
containers as it can get, which measures throughput. With a rate, asks come at random times, which measures the time from
asking for a container to getting it.

A cluster that has nodes or live applications is refused: the load would take their resources, and their containers would be
sent to nodes that don't exist. --busy loads it nevertheless. What the load registers is taken back at its end, also after a Ctrl-C, and by a
second process if this one is killed.

With --stock, this command starts a YARN (from Maven's jars; it needs a JDK,
and mvn the first time), a YARN tuned for throughput, and a Heddle, one after the other and new for each run. It prints a table
in Markdown with medians (least–most). Give Java time to compile: --warmup 15s.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd) },
	}
	b.flags(c.Flags())
	c.MarkFlagsMutuallyExclusive(append([]string{"stock"}, sideNames...)...)
	c.AddCommand(newTabs(), &cobra.Command{
		Use: keepCommand, Short: "Take back what a load has registered, for heddle-lab bench rm", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return load.Keep(os.Stdin) },
	})
	return c
}

func (b *rmBench) flags(f *pflag.FlagSet) {
	f.IntVar(&b.Nodes, "nodes", 1000, "simulated NodeManagers")
	f.Int64Var(&b.memory, "node-memory", 131072, "memory of a node, in MB")
	f.Int64Var(&b.cores, "node-vcores", 128, "cores of a node")
	f.DurationVar(&b.Heartbeat, "heartbeat", time.Second, "time between a node's heartbeats")
	f.IntVar(&b.Masters, "ams", 8, "simulated ApplicationMasters")
	f.Int64Var(&b.containerMB, "container-memory", 1024, "memory of a container, in MB")
	f.Float64Var(&b.Rate, "rate", 0, "containers per second that all ApplicationMasters ask for; 0 = as many as they get")
	f.IntVar(&b.Outstanding, "outstanding", 100, "pending containers of an ApplicationMaster without --rate")
	f.DurationVar(&b.Interval, "am-interval", 0, "time between an ApplicationMaster's calls; 0 = without a pause")
	f.DurationVar(&b.Hold, "hold", 0, "how long a container lives")
	f.BoolVar(&b.EndByNode, "end-by-node", false, "start containers and let them end on their nodes, instead of giving them back")
	f.DurationVar(&b.Warmup, "warmup", 3*time.Second, "time before the measurement")
	f.DurationVar(&b.Duration, "duration", 10*time.Second, "time of the measurement")
	f.StringVar(&b.User, "user", "", "user who submits the applications (default: your user)")
	f.StringVar(&b.Queue, "queue", "default", "queue of the applications")
	b.sidesOf.add(f)
	f.BoolVar(&b.stock, "stock", false, "start YARN, YARN tuned for throughput, and Heddle on this machine in turn, and measure each")
	f.BoolVar(&b.busy, "busy", false, "load a cluster although it has nodes or applications")
	f.IntVar(&b.runs, "runs", 3, "runs of each side that is compared")
	f.BoolVar(&b.asJSON, "json", false, "print the result as JSON")
}

// complete makes the options of the flags.
func (b *rmBench) complete() error {
	b.NodeResource = records.NewResource(b.memory, b.cores)
	b.Container = records.NewResource(b.containerMB, 1)
	if b.User == "" {
		me, err := user.Current()
		if err != nil {
			return err
		}
		b.User = me.Username
	}
	if b.runs < 1 {
		return fmt.Errorf("--runs is %d: it must be at least 1", b.runs)
	}
	return nil
}

func (b *rmBench) run(cmd *cobra.Command) (err error) {
	if err := b.complete(); err != nil {
		return err
	}
	sides, compare, err := b.sidesOf.sides()
	if err != nil {
		return err
	}
	if compare {
		if b.source.named() {
			return fmt.Errorf("--%s measure ResourceManagers that are started for them: name no configuration", strings.Join(sideNames, ", --"))
		}
		collector.Rarely()
		all, err := benchBeside(cmd.Context(), b.Options, sides, b.runs, cmd.ErrOrStderr())
		return errors.Join(err, printBeside(cmd.OutOrStdout(), all, sides))
	}
	if b.stock {
		all, err := benchStock(cmd.Context(), b.Options, b.runs, cmd.ErrOrStderr())
		return errors.Join(printRivals(cmd.OutOrStdout(), all, b.asJSON), err)
	}
	config, err := conf.Load(b.source.options())
	if err != nil {
		return err
	}
	var own *ownRM
	if !b.source.named() {
		if own, err = startOwn(cmd.Context(), config); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, own.stop()) }()
	}
	if err := b.Address(config); err != nil {
		return err
	}
	if own == nil {
		done, e := load.Visit(cmd.Context(), &b.Options, b.busy, "bench", "rm", keepCommand)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, done()) }()
	}
	collector.Rarely()
	res, err := load.Run(cmd.Context(), b.Options)
	if res.Duration == 0 {
		return err
	}
	if own != nil {
		var e error
		if res.PeakMemory, e = proc.PeakMemory(own.pid); !errors.Is(e, errors.ErrUnsupported) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, printLoad(cmd.OutOrStdout(), &res, b.asJSON))
}

// keepCommand starts the process that takes back what a load has registered.
const keepCommand = "keep"

func printLoad(w io.Writer, r *load.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := fmt.Fprintf(w, `granted        %d containers in %.1f s: %.0f/s
ask to grant   p50 %s  p90 %s  p99 %s  max %s
heartbeats     %.0f/s  p50 %s  p99 %s  max %s
`, r.Grants, r.Duration.Seconds(), r.PerSecond,
		ms(r.Latency.P50), ms(r.Latency.P90), ms(r.Latency.P99), ms(r.Latency.Max),
		r.BeatsPerSecond, ms(r.Heartbeats.P50), ms(r.Heartbeats.P99), ms(r.Heartbeats.Max))
	if err != nil || r.PeakMemory == 0 {
		return err
	}
	_, err = fmt.Fprintf(w, "memory         at most %d MB of the ResourceManager\n", r.PeakMemory>>20)
	return err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// binaries returns the paths of heddle and of this program.
func binaries() (heddle, lab string, err error) {
	if heddle, err = program.Beside("heddle"); err != nil {
		return "", "", err
	}
	lab, err = os.Executable()
	return heddle, lab, err
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
