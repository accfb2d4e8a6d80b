package shorttasks

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"heddle/am/probes"
)

// Bindings is jobs of processes that work, on as many vcores as the machine has processors, or one for each node. Both ways get jobs at the same times.
type Bindings struct {
	Late  Jobs // a node asks for a task when it has a vcore for it
	Early Jobs // tasks are bound to the probed nodes with the least to do at once, and share their processors
	CPU   struct{ Late, Early CPU }
}

// bindings measures early and late binding.
func bindings(ctx context.Context, o Options) (*Bindings, error) {
	var err error
	if o.Working.Args, err = works(ctx, o.Working.Task); err != nil {
		return nil, err
	}
	o.Working.Fork = true
	o.Slots = max(1, runtime.NumCPU()/o.Nodes)
	each, err := o.Working.alone(ctx)
	if err != nil {
		return nil, err
	}
	r := &Bindings{}
	for _, x := range []struct {
		early bool
		jobs  *Jobs
		cpu   *CPU
	}{{false, &r.Late, &r.CPU.Late}, {true, &r.Early, &r.CPU.Early}} {
		err := withProbes(ctx, o, probes.Options{Estimate: each, Early: x.early}, func(p *probes.Scheduler, s spent) (err error) {
			*x.cpu, err = s.each(func() (n int, err error) {
				*x.jobs, err = o.Working.run(ctx, o, each, ofJobs(p))
				return x.jobs.Jobs * o.Working.Tasks, err
			})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// works returns a command that counts for so long on this machine.
func works(ctx context.Context, d time.Duration) ([]string, error) {
	counts := func(n int) []string {
		return []string{"sh", "-c", "i=0; while [ $i -lt " + strconv.Itoa(n) + " ]; do i=$((i+1)); done"}
	}
	took := func(n int) (time.Duration, error) {
		args, began := counts(n), time.Now()
		err := exec.CommandContext(ctx, args[0], args[1:]...).Run()
		return time.Since(began), err
	}
	const few, many = 1000, 500_000
	short, err := took(few)
	if err != nil {
		return nil, err
	}
	long, err := took(many)
	if err != nil {
		return nil, err
	}
	if long <= short {
		return nil, fmt.Errorf("sh counts to %d in %v, and to %d in %v: it can't be told how long it works", many, long, few, short)
	}
	each := float64(long-short) / (many - few)
	return counts(max(1, int(float64(d-short)/each))), nil
}
