// Package walltime compares how long jobs take on several clusters. It runs the same commands on the clusters in turn,
// so that other work on the machine slows all of them alike.
//
//	heddle-lab bench jobs                                      starts a stock Hadoop and two Heddles on this machine, on one HDFS
//	heddle-lab bench jobs --cluster a=/etc/a --cluster b=/etc/b    measures running clusters
package walltime

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Cluster is a cluster to measure.
type Cluster struct {
	Name string
	// Run runs a command (hadoop, hdfs, spark-submit or heddle with arguments) with the cluster's configuration. Its error
	// has what the command wrote to its standard error.
	Run func(ctx context.Context, command ...string) error
	// Settle, if set, returns when the background work of earlier jobs is done.
	Settle func(ctx context.Context) error
	// Clear, if set, ends the applications of a failed run, which may still run without their client.
	Clear func(ctx context.Context) error
}

// Job is a command to measure.
type Job struct {
	Name string
	// Setup, if set, runs once, on the first cluster: all clusters have the same file system.
	Setup func(ctx context.Context, c Cluster) error
	// Command returns the command for a run; output is a folder that doesn't exist yet.
	Command func(output string) []string
	// Long jobs don't run for warming up; the others suffice.
	Long bool
	// Usual is how long a run takes on a stock Hadoop on a quiet machine of two cores. Preparing is how long Setup
	// takes. The announced duration depends on them.
	Usual, Preparing time.Duration
}

// Options describe the measurement.
type Options struct {
	Clusters []Cluster // the report has ratios of the others to the first one
	Jobs     []Job     // if time is short, the first ones have precedence
	Runs     int       // of each job on each cluster
	WarmUp   int       // earlier runs, which don't count
	Folder   string    // folder for outputs, on the clusters' file system
	// Budget bounds the time of everything; 0 means without limit. Run leaves out runs that would take too long, those
	// of the last jobs first.
	Budget time.Duration
	// Limit bounds the time of one run, which then counts as failed; 0 means without limit.
	Limit time.Duration
	// Tell, if set, is called for every run, with the remaining time.
	Tell func(text string)
	// Keep, if set, gets the report after every addition.
	Keep func(Report) error
	now  func() time.Time
}

// Run measures. It repeats a failed run once, and records the failure if that fails, too. An error ends the
// measurement; the report has what was measured before.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.now == nil {
		o.now = time.Now
	}
	m := &measurement{Options: o, began: o.now(), slower: 1}
	for _, c := range o.Clusters {
		m.report.Clusters = append(m.report.Clusters, c.Name)
	}
	for _, j := range o.Jobs {
		m.report.Rows = append(m.report.Rows, Row{j.Name, map[string][]float64{}, map[string][]string{}})
	}
	err := m.run(ctx)
	return m.report, err
}

// measurement is a measurement under way.
type measurement struct {
	Options
	began  time.Time
	report Report
	slower float64 // how many times as long as usual runs take
	broken []bool  // jobs that could not be prepared
}

func (m *measurement) run(ctx context.Context) error {
	m.broken = make([]bool, len(m.Jobs))
	m.tell("%d jobs on %d clusters, %d times after %d to warm up: about %s", len(m.Jobs), len(m.Clusters), m.Runs, m.WarmUp, minutes(m.preparing()+m.left(-m.WarmUp, 0)))
	for i, j := range m.Jobs {
		if j.Setup == nil {
			continue
		}
		if err := j.Setup(ctx, m.Clusters[0]); err != nil {
			if ctx.Err() != nil {
				return err
			}
			m.tell("%s is left out, because its preparation failed: %v", j.Name, err)
			m.broken[i] = true
			m.report.Rows[i].Failed[m.Clusters[0].Name] = []string{"preparing: " + firstLine(err)}
		}
	}
	for run := -m.WarmUp; run < m.Runs; run++ {
		for i := range m.Jobs {
			if !m.takesPart(i, run) {
				continue
			}
			if m.Budget > 0 && m.passed()+m.first(i, run) > m.Budget {
				m.tell("no time is left for %s, %s", m.Jobs[i].Name, which(run))
				continue
			}
			if err := m.round(ctx, i, run); err != nil {
				return err
			}
		}
		m.tell("%s done, %s so far, about %s to go", which(run), minutes(m.passed()), minutes(m.left(run+1, 0)))
		if run < 0 {
			if err := m.settle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// takesPart reports whether a job runs in a round. Rounds for warming up have numbers below 0.
func (m *measurement) takesPart(i, run int) bool {
	return !m.broken[i] && (run >= 0 || !m.Jobs[i].Long || len(m.Jobs) == 1)
}

// round runs a job on each cluster.
func (m *measurement) round(ctx context.Context, i, run int) error {
	j, row := m.Jobs[i], &m.report.Rows[i]
	for k := range m.Clusters {
		at := (k + run + m.WarmUp) % len(m.Clusters) // each is first in turn
		c := m.Clusters[at]
		var err error
		for try := range 2 {
			var took time.Duration
			// The path lacks the cluster's name, because programs take paths with some characters for URIs.
			output := fmt.Sprintf("%s/%s-%d-%d-%d", m.Folder, j.Name, at+1, run+m.WarmUp, try)
			if took, err = m.once(ctx, j, c, output); err == nil {
				m.tell("%s on %s, %s: %.1f s", j.Name, c.Name, which(run), took.Seconds())
				if run >= 0 {
					row.Seconds[c.Name] = append(row.Seconds[c.Name], took.Seconds())
				}
				m.discard(ctx, j, c, output)
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s on %s, %s: %w", j.Name, c.Name, which(run), err)
			}
			m.tell("%s on %s, %s, failed after %.1f s: %v", j.Name, c.Name, which(run), took.Seconds(), err)
			if c.Clear != nil {
				if err := c.Clear(ctx); err != nil {
					m.tell("%s: can't end the applications of a failed run: %v", c.Name, err)
				}
			}
		}
		if err != nil {
			row.Failed[c.Name] = append(row.Failed[c.Name], which(run)+": "+firstLine(err))
		}
		if m.Keep != nil {
			if err := m.Keep(m.report); err != nil {
				return err
			}
		}
	}
	m.compare()
	return nil
}

func (m *measurement) once(ctx context.Context, j Job, c Cluster, output string) (time.Duration, error) {
	if m.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.Limit, fmt.Errorf("it took longer than %s", m.Limit))
		defer cancel()
	}
	began := m.now()
	err := c.Run(ctx, j.Command(output)...)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return m.now().Sub(began), err
}

// discard removes the output of a long job. It may be large, and what isn't on the disks yet would be written during
// the next run.
func (m *measurement) discard(ctx context.Context, j Job, c Cluster, output string) {
	if !j.Long {
		return
	}
	if err := c.Run(ctx, "hdfs", "dfs", "-rm", "-r", "-f", "-skipTrash", output); err != nil && ctx.Err() == nil {
		m.tell("%s: can't remove %s: %v", c.Name, output, err)
	}
}

func (m *measurement) settle(ctx context.Context) error {
	for _, c := range m.Clusters {
		if c.Settle == nil {
			continue
		}
		if err := c.Settle(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// compare estimates how much slower this machine is than the one of the usual times.
func (m *measurement) compare() {
	var is, usual float64
	for i, row := range m.report.Rows {
		if s := row.Seconds[m.Clusters[0].Name]; len(s) > 0 && m.Jobs[i].Usual > 0 {
			is, usual = is+Median(s), usual+m.Jobs[i].Usual.Seconds()
		}
	}
	if usual > 0 {
		m.slower = is / usual
	}
}

// roundTime returns how long a job takes on all clusters, as far as that is known.
func (m *measurement) roundTime(i int) time.Duration {
	var sum time.Duration
	for _, c := range m.Clusters {
		if s := m.report.Rows[i].Seconds[c.Name]; len(s) > 0 {
			sum += time.Duration(Median(s) * float64(time.Second))
		} else {
			sum += time.Duration(m.slower * float64(m.Jobs[i].Usual))
		}
	}
	return sum
}

// left returns how long the rounds from run on will take. The first of them begins with a job.
func (m *measurement) left(run, job int) time.Duration {
	var sum time.Duration
	for ; run < m.Runs; run, job = run+1, 0 {
		for i := job; i < len(m.Jobs); i++ {
			if m.takesPart(i, run) {
				sum += m.roundTime(i)
			}
		}
	}
	return sum
}

// first returns how long a round will take, with the parts of later rounds that precede it because their jobs come
// first.
func (m *measurement) first(job, run int) time.Duration {
	sum := m.roundTime(job)
	for later := run + 1; later < m.Runs; later++ {
		for i := range job {
			if m.takesPart(i, later) {
				sum += m.roundTime(i)
			}
		}
	}
	return sum
}

func (m *measurement) preparing() time.Duration {
	var sum time.Duration
	for _, j := range m.Jobs {
		sum += j.Preparing
	}
	return sum
}

func (m *measurement) passed() time.Duration { return m.now().Sub(m.began) }

func (m *measurement) tell(format string, args ...any) {
	if m.Tell != nil {
		m.Tell(fmt.Sprintf(format, args...))
	}
}

func which(run int) string {
	if run < 0 {
		return "warming up"
	}
	return fmt.Sprintf("run %d", run+1)
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) }
