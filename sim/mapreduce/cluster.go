package mapreduce

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"heddle/am/stage"
	"heddle/internal/omo"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/sim"
	"heddle/yarn/records"
)

// Defaults of settings.
const (
	defaultBandwidth = 64
	defaultStart     = 1
	defaultExpiry    = 10
	defaultLimit     = 1e6
	defaultSlowStart = 0.05
)

const (
	second   = sim.Time(time.Second)
	report   = 3           // seconds between two reports of an attempt's progress
	patience = 10_800      // seconds for which nothing may happen that was to happen: longer than a suspension, or a job's patience with itself
	megabyte = 1024 * 1024 // bytes
)

func seconds(s float64) sim.Time { return sim.Time(math.Round(s * float64(second))) }

// cluster is a simulation under way.
type cluster struct {
	s       *Scenario
	engine  *sim.Engine
	sched   *drive.Driver
	random  *rand.Rand
	nodes   []*node
	at      []*node // by handle of the scheduler
	jobs    []*master
	live    []*master // jobs that run, in their order among all
	awake   []*master // those of them for which a second means something
	asking  []*master // those that want something of which the scheduler hasn't heard
	apps    []*master // by handle
	holders []holder  // by container's handle
	arrived int
	changes int            // that were made
	classes map[string]int // of nodes, if they are configured
	frozen  int            // containers that were suspended

	attempts []*attempt
	granted  int64
	release  omo.Release
	released int
	seen     int // of these, by the last tick
	quiet    int // ticks in which nothing was under way
	failure  error

	used, capacity records.Resource
	vcores         bool // they are measured, not memory alone
	usedAt         sim.Time
	dominant       float64 // share of the resource that is used most, by time
}

// holder is the owner of a container.
type holder struct {
	job  *master
	slot stage.SlotID
}

// Run simulates a scenario, which must be one that Read takes. The error says what keeps jobs from ending.
func Run(s *Scenario) (*Result, error) {
	c, err := newCluster(s)
	if err != nil {
		return nil, err
	}
	for c.failure == nil && c.engine.Step() {
		c.schedule()
	}
	return c.result(), c.failure
}

func newCluster(s *Scenario) (*cluster, error) {
	if f := s.check(); f != nil {
		return nil, fmt.Errorf("%s: %s", f.path, f.text)
	}
	c := &cluster{s: s, engine: &sim.Engine{}, random: rand.New(rand.NewPCG(s.Seed, 0x5ce7a210))}
	tree, types, f := s.tree()
	if f != nil {
		return nil, fmt.Errorf("%s: %s", f.path, f.text)
	}
	c.vcores = tree.CountsVCores()
	c.sched = drive.New(scheduler.Config{Tree: tree, Types: types, Minimum: records.NewResource(1, 1)})
	for i := range s.Nodes {
		for _, name := range s.Nodes[i].names() {
			c.addNode(&s.Nodes[i], name)
		}
	}
	for i := range s.Changes {
		c.engine.At(seconds(s.Changes[i].At), changed{c}, int64(i))
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for k, name := range numbered(j.Name, j.Count) {
			c.jobs = append(c.jobs, c.newMaster(j, name, len(c.jobs), seconds(j.Submit+float64(k)*j.Every)))
		}
	}
	for i, j := range c.jobs {
		c.engine.At(j.submit, arrival{c}, int64(i))
	}
	c.engine.At(0, tick{c}, 0)
	return c, nil
}

func (c *cluster) setting(given, otherwise float64) float64 {
	if given > 0 {
		return given
	}
	return otherwise
}

// schedule runs the scheduler until there is nothing more to decide.
func (c *cluster) schedule() {
	now := c.engine.Now()
	for again := true; again && c.failure == nil; {
		slices.SortFunc(c.asking, byNumber)
		for _, j := range c.asking {
			j.tellAsks()
		}
		c.asking = c.asking[:0]
		again = false
		for _, d := range slices.Clone(c.sched.Step(now.Millis())) {
			switch d.Kind {
			case drive.Allocate:
				again = true
				c.allocated(&d)
			case drive.Suspend:
				again = true
				c.holds(d.Container, d.Resource)
				c.stands(d.Container, true)
			case drive.Resume, drive.Shrink: // shrunk containers run
				again = true
				c.holds(d.Container, d.Resource)
				c.stands(d.Container, false)
			case drive.Kill:
				again = true
				h := c.holders[d.Container]
				h.job.lost(h.slot, false)
			}
		}
	}
}

// allocated hands a container to the job that it was granted to.
func (c *cluster) allocated(d *drive.Decision) {
	for len(c.holders) <= int(d.Container) {
		c.holders = append(c.holders, holder{})
	}
	c.granted++
	c.sched.Identify(1, c.granted, false, d.Container)
	c.use(d.Resource)
	j := c.apps[d.App]
	c.holders[d.Container] = holder{j, stage.SlotID(len(j.slots))}
	j.granted(d, c.at[d.Node])
}

// holds notes that a container holds another amount now.
func (c *cluster) holds(h scheduler.ContainerHandle, amount records.Resource) {
	x := &c.holders[h].job.slots[c.holders[h].slot]
	c.use(amount.Sub(x.held))
	x.held = amount
}

// use counts resources that are taken, or freed if they are negative. Where memory alone is measured, nodes may have more vcores in use than they
// have.
func (c *cluster) use(r records.Resource) {
	now := c.engine.Now()
	share := 0.
	for i := range c.capacity {
		if c.capacity[i] > 0 && (i == records.Memory || c.vcores) {
			share = max(share, float64(c.used[i])/float64(c.capacity[i]))
		}
	}
	c.dominant += share * (now - c.usedAt).Seconds()
	c.usedAt = now
	c.used = c.used.Add(r)
}

// arrival submits a job.
type arrival struct{ *cluster }

func (c arrival) Handle(i int64) {
	c.arrived++
	j := c.jobs[i]
	c.live = with(c.live, j)
	j.submitted(i + 1)
}

// tick is what happens every second: jobs hear of the cluster, attempts report, and planners do what is due.
type tick struct{ *cluster }

func (c tick) Handle(n int64) {
	now := c.engine.Now()
	if now > seconds(c.setting(c.s.Limit, defaultLimit)) {
		c.failure = fmt.Errorf("%d of %d jobs haven't ended after %v s, the limit", c.unfinished(), len(c.jobs), now.Seconds())
		return
	}
	available := 0
	for _, j := range c.awake { // others have nothing
		available += j.planner.Facts().Available
	}
	c.release.Observe(time.Duration(now), float64(c.released), float64(available))
	busy := c.arrived < len(c.jobs) || c.changes < len(c.s.Changes) || c.released > c.seen // short attempts run between two ticks
	c.seen = c.released
	for _, j := range slices.Clone(c.awake) { // some may end, or rest
		if j.runs {
			busy = j.tick() || busy
		}
	}
	if c.quiet++; busy {
		c.quiet = 0
	}
	if c.quiet > patience {
		c.failure = fmt.Errorf("nothing happens any more after %v s, and %d of %d jobs haven't ended: %s", now.Seconds(), c.unfinished(), len(c.jobs), c.stuck())
		return
	}
	if len(c.live) > 0 || c.arrived < len(c.jobs) {
		c.engine.At(now+second, c, n+1)
	}
}

func byNumber(a, b *master) int { return cmp.Compare(a.number, b.number) }

// with returns a list of jobs in their order among all with another one, and without a list without it.
func with(list []*master, j *master) []*master {
	at, _ := slices.BinarySearchFunc(list, j, byNumber)
	return slices.Insert(list, at, j)
}

func without(list []*master, j *master) []*master {
	if at, there := slices.BinarySearchFunc(list, j, byNumber); there {
		return slices.Delete(list, at, at+1)
	}
	return list
}

func (c *cluster) unfinished() (n int) {
	for _, j := range c.jobs {
		if !j.over {
			n++
		}
	}
	return n
}

// stuck says what a job that doesn't end waits for.
func (c *cluster) stuck() string {
	if len(c.live) > 0 {
		j := c.live[0]
		f := j.planner.Facts()
		return fmt.Sprintf("job %s has %d maps and %d reduces that wait, and %d and %d that run", j.name, f.Maps.Waiting, f.Reduces.Waiting,
			f.Maps.Running, f.Reduces.Running)
	}
	return "its queue's limits don't admit one"
}

// hints returns what the ResourceManager tells jobs.
func (c *cluster) hints() stage.Hinted {
	var h stage.Hinted
	set := &c.s.Settings
	h.Hints.Bandwidth = c.setting(set.Bandwidth, defaultBandwidth) * megabyte
	if set.Hints {
		h.Hints.Jobs = len(c.live)
		if c.release.Known {
			h.Hints.Frequency, h.Hints.Available = c.release.Frequency, c.release.Available
		}
	}
	h.Classes = c.classes
	return h
}
