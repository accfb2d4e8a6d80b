package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// Command is heddle-lab campaign. find returns the path of the binary under test, unless a flag names it.
func Command(find func() (string, error)) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "campaign",
		Short: "Cause hundreds of faults in clusters under load, and check that nothing is lost",
		Long: "Clients submit, ApplicationMasters ask for containers, and jobs run, while daemons are killed, stopped and cut off, disks fail and clocks step.\n" +
			"Acknowledged applications must stay, no container may be granted twice, nothing may be left behind, and jobs must have the right results. It needs\n" +
			"root, and a virtual machine for every tenth episode of ten faults. The printed seed determines the faults.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.binary == "" {
				path, err := find()
				if err != nil {
					return err
				}
				o.binary = path
			}
			r, err := run(cmd.Context(), o)
			if err == nil {
				err = r.write(o)
			}
			if err == nil && len(r.Failures) > 0 {
				err = fmt.Errorf("%d episodes failed", len(r.Failures))
			}
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.faults, "faults", 1000, "number of faults")
	f.Uint64Var(&o.seed, "seed", rand.Uint64N(1<<32), "seed that determines the faults")
	f.IntVar(&o.from, "from", 0, "begin with the episode of the fault with this number")
	f.StringVar(&o.binary, "heddle", "", "the binary under test (default: heddle beside this program)")
	f.StringVar(&o.only, "only", "", "play only the episodes of processes, or of machines")
	f.StringVar(&o.json, "json", "", "write the result as JSON to this file")
	f.StringVar(&o.keep, "keep", "campaign-failures", "folder for the logs of failed episodes")
	f.DurationVar(&patience, "patience", patience, "how long a cluster may take to recover, and a job to end, after the last fault")
	f.Lookup("seed").DefValue = "drawn"
	return c
}

type options struct {
	faults, from             int
	seed                     uint64
	binary, only, json, keep string
	dir                      string // folder of all episodes
}

// result is the result of a campaign.
type result struct {
	Seed         uint64         `json:"seed"`
	From         int            `json:"from"`
	Faults       int            `json:"faults"`
	ByKind       map[string]int `json:"byKind"`
	Seconds      float64        `json:"seconds"`
	Acknowledged int            `json:"acknowledgedApplications"`
	Containers   int            `json:"containers"`
	Jobs         int            `json:"jobs"`
	Ended        []string       `json:"daemonsThatEndedByThemselves,omitempty"`
	Failures     []failure      `json:"failures"`
}

// failure is a failed episode.
type failure struct {
	From   int     `json:"from"` // number of its first fault
	Faults []fault `json:"faults"`
	Error  string  `json:"error"`
	Logs   string  `json:"logs,omitempty"`
}

func run(ctx context.Context, o options) (*result, error) {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return nil, err
	}
	o.binary = binary
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("run this as root: it needs disks for daemons, cgroups and other users")
	}
	// Virtual machines have their own /tmp. Jobs run as another user.
	if o.dir, err = os.MkdirTemp("/var/tmp", "campaign"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(o.dir)
	if err := os.Chmod(o.dir, 0o755); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(o.binary)
	if err != nil {
		return nil, err
	}
	o.binary = filepath.Join(o.dir, "heddle")
	if err := os.WriteFile(o.binary, raw, 0o755); err != nil {
		return nil, err
	}
	began := time.Now()
	r := &result{Seed: o.seed, From: o.from, ByKind: map[string]int{}, Failures: []failure{}}
	fmt.Printf("campaign: seed %d, faults %d to %d\n", o.seed, o.from/perEpisode*perEpisode, o.from+o.faults-1)
	for _, ep := range plan(o.seed, o.from, o.from+o.faults) {
		if ctx.Err() != nil {
			break
		}
		if o.only == "machines" && !ep.machine || o.only == "processes" && ep.machine {
			continue
		}
		if err := r.play(ctx, o, ep); err != nil {
			return r, err
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// play plays an episode in its own folder. It keeps the folder if the episode fails.
func (r *result) play(ctx context.Context, o options, ep episode) error {
	dir := filepath.Join(o.dir, fmt.Sprintf("episode%d", ep.number))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	log := func(format string, args ...any) {
		fmt.Printf("%s %3ds  %s\n", time.Now().Format("15:04:05"), int(time.Since(began).Seconds()), fmt.Sprintf(format, args...))
	}
	log("episode %d", ep.number)
	t, err := perform(ctx, o, ep, dir, log)
	if ctx.Err() != nil {
		return nil // it was interrupted, and proves nothing
	}
	for _, f := range ep.faults {
		r.ByKind[f.Kind]++
	}
	r.Faults += len(ep.faults)
	r.Acknowledged += t.checked.Acknowledged
	r.Containers += t.checked.Containers
	r.Jobs += t.jobs
	r.Ended = append(r.Ended, t.ended...)
	log("episode %d: %d applications, %d containers, %d jobs", ep.number, t.checked.Acknowledged, t.checked.Containers, t.jobs)
	if err == nil {
		return nil
	}
	f := failure{From: ep.number * perEpisode, Faults: ep.faults, Error: err.Error()}
	f.Logs = filepath.Join(o.keep, fmt.Sprintf("seed-%d-from-%d", o.seed, f.From))
	log("FAILED, replay with --seed %d --from %d --faults %d; logs are in %s\n%v", o.seed, f.From, len(ep.faults), f.Logs, err)
	r.Failures = append(r.Failures, f)
	return keepLogs(dir, f.Logs)
}

func keepLogs(dir, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return err
	}
	for _, l := range logs {
		raw, err := os.ReadFile(l)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(l)), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// write prints the result, and writes it as JSON if an option asks for that.
func (r *result) write(o options) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if o.json != "" {
		if err := os.WriteFile(o.json, append(raw, '\n'), 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("campaign: %d faults in %.0f s, seed %d: %d applications acknowledged, %d containers, %d jobs; %d episodes failed\n",
		r.Faults, r.Seconds, r.Seed, r.Acknowledged, r.Containers, r.Jobs, len(r.Failures))
	for _, k := range sortedByCount(r.ByKind) {
		fmt.Printf("%6d  %s\n", r.ByKind[k], k)
	}
	return nil
}
