package queue

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/queue/label"
	"heddle/rm/queue/leafpolicy"
	"heddle/rm/queue/nodesort"
	"heddle/rm/queue/priority"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/settings"
	"heddle/rm/queue/suspension"
	"heddle/rm/queue/template"
	"heddle/yarn/acl"
	"heddle/yarn/records"
)

// none admits nobody. It is the default of a queue's lists, so that only its ancestors' lists admit users.
var none = acl.Parse(" ")

// limits reads a queue's limits of applications and users.
func (p *parser) limits(q *Queue) {
	name, v := p.of(q.Path, "maximum-am-resource-percent", "0.1")
	if q.MaxAMShare = float32(p.number(name, v, 0)); q.MaxAMShare > 1 {
		p.warn(name, v, "is more than 1, which is the whole queue")
	}
	name, v = p.of(q.Path, "minimum-user-limit-percent", "100")
	if q.UserLimit = float32(p.number(name, v, 0)); q.UserLimit > 100 {
		p.fail(name, v, "it must be a percentage of 0 to 100")
	}
	name, v = p.of(q.Path, "user-limit-factor", "1")
	if q.UserLimitFactor = float32(p.number(name, v, -1)); q.UserLimitFactor < 0 && q.UserLimitFactor != -1 {
		p.fail(name, v, "it must be a number, at least 0, or -1 for no limit")
	}
	name, v = p.of(q.Path, "max-parallel-apps", "2147483647")
	q.MaxParallelApps = p.integer(name, v, 0)
	name, v = p.own(q.Path, "priority", "0")
	q.Priority = p.integer(name, v, math.MinInt32)
	name, v = p.own(q.Path, "default-application-priority", "0")
	q.DefaultPriority = p.integer(name, v, math.MinInt32)

	p.lifetimes(q)
	p.maxApplications(q)
	p.allocation(q)
	p.userWeights(q)
	p.policy(q)
	p.state(q)
	p.preemption(q)
	var above []string
	if q.Parent != nil {
		above = q.Parent.Labels
	}
	q.Labels = label.Access(p.settings[q.Path+"."+label.AccessKey], above) // as in Hadoop root has all, also if its list says otherwise
	p.defaultLabel(q)
	q.SortNodes = nodesort.Every(p.settings, q.Path, p.fail)
}

// parent reports whether a queue has children, before these are read.
func (p *parser) parent(q *Queue) bool {
	return q.Reservable || q.managed || len(conf.ParseList(p.settings[q.Path+".queues"])) > 0
}

// lifetimes reads and inherits lifetimes. A queue without a maximum has its parent's; 0 is none. A queue without a default has its parent's, as far as its maximum
// allows, and else its maximum (Hadoop: QueueAppLifetimeAndLimitSettings).
func (p *parser) lifetimes(q *Queue) {
	read := func(key string) (name string, n int64) {
		name, v := p.own(q.Path, key, "-1")
		return name, p.long(name, v)
	}
	_, q.MaxLifetime = read("maximum-application-lifetime")
	name, def := read("default-application-lifetime")
	q.DefaultLifetime, q.defaultLife = def, def >= 0
	if q.Parent == nil {
		return
	}
	if q.MaxLifetime < 0 {
		q.MaxLifetime = q.Parent.MaxLifetime
	}
	q.defaultLife = q.defaultLife || q.Parent.defaultLife
	if def < 0 && q.defaultLife {
		q.DefaultLifetime = min(q.Parent.DefaultLifetime, q.MaxLifetime)
	}
	if q.MaxLifetime > 0 && q.DefaultLifetime > q.MaxLifetime {
		p.fail(name, p.settings[name], fmt.Sprintf("it is longer than the maximum lifetime of queue %s, which is %d s", q.Path, q.MaxLifetime))
	}
	if q.DefaultLifetime <= 0 {
		q.DefaultLifetime = q.MaxLifetime
	}
}

// Lifetime returns how long an application that asked for a lifetime may live, both in seconds; values up to 0 mean no
// limit (Hadoop: CapacityScheduler.checkAndGetApplicationLifetime).
func (q *Queue) Lifetime(asked int64) int64 {
	switch {
	case asked <= 0:
		return q.DefaultLifetime
	case q.MaxLifetime > 0:
		return min(asked, q.MaxLifetime)
	}
	return asked
}

func (p *parser) maxApplications(q *Queue) {
	q.maxApps, q.sharedApps = -1, true
	q.clusterApps = p.integer("maximum-applications", p.text("maximum-applications", "10000"), 0)
	q.clusterLimit = q.clusterApps
	if v := p.text("global-queue-max-application", "0"); v != "0" {
		if n := p.integer("global-queue-max-application", v, -1); n > 0 {
			q.clusterApps, q.sharedApps = min(n, q.clusterApps), false
		}
	}
	if name, v := p.own(q.Path, "maximum-applications", ""); v != "" {
		q.maxApps = p.integer(name, v, 0)
	}
}

// allocation reads the largest container, which may not exceed the parent's and the cluster's.
func (p *parser) allocation(q *Queue) {
	if q.Parent != nil {
		q.MaxAllocation = q.Parent.MaxAllocation
	}
	cluster := p.conf.MaximumAllocation(p.types)
	set := func(name, text string, i int, n int64) {
		if n <= 0 || n > cluster[i] {
			p.fail(name, text, fmt.Sprintf("the largest container of queue %s must be at least 1 and no larger than the cluster's, which is %s",
				q.Path, p.types.Format(cluster)))
			return
		}
		q.MaxAllocation[i] = n
	}
	if name, v := p.own(q.Path, "maximum-allocation", ""); v != "" {
		for part := range strings.SplitSeq(strings.Trim(v, "[]"), ",") {
			resource, amount, _ := strings.Cut(part, "=")
			i, known := quantity.Index(p.types, strings.TrimSpace(resource))
			n, err := quantity.ParseAmount(strings.TrimSpace(amount), i)
			if !known || err != nil {
				p.fail(name, v, "it must be such as memory-mb=4096,vcores=4")
				return
			}
			set(name, v, i, n)
		}
		return
	}
	for i, key := range []string{records.Memory: "maximum-allocation-mb", records.VCores: "maximum-allocation-vcores"} {
		if name, v := p.own(q.Path, key, ""); v != "" && v != "-1" {
			set(name, v, i, int64(p.integer(name, v, -1)))
		}
	}
}

// userWeights reads and inherits users' weights. In a leaf its user limit bounds them (Hadoop: UserWeights).
func (p *parser) userWeights(q *Queue) {
	weights := map[string]float32{}
	if q.Parent != nil {
		maps.Copy(weights, q.Parent.UserWeights)
	}
	for _, key := range p.weightKeys() {
		user, own := strings.CutPrefix(key, q.Path+userSettings)
		if user = strings.TrimSuffix(user, weightOf); own && user != "" {
			weights[user] = float32(p.number(key, strings.TrimSpace(p.settings[key]), 0))
		}
	}
	if len(weights) == 0 {
		return
	}
	q.UserWeights = weights
	if p.parent(q) {
		return
	}
	most := 100 / q.UserLimit
	for user, w := range weights {
		if w > most {
			key := p.weightKey(q, user)
			p.fail(key, p.settings[key], fmt.Sprintf("it must be no more than 100 / minimum-user-limit-percent, which is %g in queue %s", most, q.Path))
		}
	}
}

// Keys of users' weights are PATH.user-settings.USER.weight.
const (
	userSettings = ".user-settings."
	weightOf     = ".weight"
)

// weightKeys returns all keys of users' weights; few configurations have any.
func (p *parser) weightKeys() []string {
	if p.weights == nil {
		p.weights = []string{}
		for key, v := range p.settings {
			if strings.Contains(key, userSettings) && strings.HasSuffix(key, weightOf) && strings.TrimSpace(v) != "" {
				p.weights = append(p.weights, key)
			}
		}
	}
	return p.weights
}

// weightKey returns the key that sets a user's weight in a queue: the queue's own, or an ancestor's.
func (p *parser) weightKey(q *Queue, user string) string {
	for ; q.Parent != nil; q = q.Parent {
		if strings.TrimSpace(p.settings[q.Path+userSettings+user+weightOf]) != "" {
			break
		}
	}
	return q.Path + userSettings + user + weightOf
}

// policy reads the order of a leaf's applications, or of a parent's queues, and the stage policy. Parents inherit the order unless
// they set one, all queues the stage policy.
func (p *parser) policy(q *Queue) {
	var err error
	inheritStagePolicy(q, p.stages)
	if name, v := p.own(q.Path, leafpolicy.StageKey, ""); v != "" {
		if q.StagePolicy, err = leafpolicy.ParseStage(v); err != nil {
			p.fail(name, v, err.Error())
		}
	}
	if p.parent(q) {
		def := "utilization"
		if q.Parent != nil {
			def = q.Parent.OrderingPolicy
		}
		var name string
		name, q.OrderingPolicy = p.own(q.Path, "ordering-policy", def)
		if q.OrderingPolicy != "utilization" && q.OrderingPolicy != "priority-utilization" {
			p.fail(name, q.OrderingPolicy, "it must be utilization or priority-utilization, as the queue holds queues")
		}
		return
	}
	name, v := p.own(q.Path, "ordering-policy", "fifo")
	if q.OrderingPolicy, err = leafpolicy.ParseOrdering(v); err != nil {
		p.fail(name, v, err.Error())
	}
	q.OrderingSettings = leafpolicy.Read(q.OrderingPolicy, p.conf, func(key string) (name, value string) { return p.own(q.Path, key, "") }, p.fail)
	q.SizeBasedWeight = p.truth(q.Path+".ordering-policy.fair.enable-size-based-weight", false)
}

// state reads whether a queue accepts applications (Hadoop: AbstractCSQueue.initializeQueueState).
func (p *parser) state(q *Queue) {
	stoppedAbove := q.Parent != nil && q.Parent.Stopped
	name, state := p.own(q.Path, "state", "")
	q.ownState = state != ""
	switch strings.ToUpper(state) {
	case "":
		q.Stopped = stoppedAbove
	case "RUNNING":
		if stoppedAbove {
			p.fail(name, state, fmt.Sprintf("the queue can't run, because %s above it is stopped", q.Parent.Path))
		}
	case "STOPPED":
		q.Stopped = true
	default:
		p.failWith("No enum constant org.apache.hadoop.yarn.api.records.QueueState."+conf.Shorten(strings.ToUpper(state)),
			name, state, "it must be RUNNING or STOPPED")
	}
}

// preemption reads whether preemption is off for a queue, which inherits that unless it sets it. A queue that others can't preempt
// doesn't preempt within itself either (Hadoop: CSQueuePreemptionSettings).
func (p *parser) preemption(q *Queue) {
	off, offInside := false, false
	if q.Parent != nil {
		off, offInside = q.Parent.NoPreemption, q.Parent.intraOff
	}
	off = p.truth(q.Path+".disable_preemption", off)
	offInside = p.truth(q.Path+".intra-queue-preemption.disable_preemption", offInside)
	q.NoPreemption, q.intraOff = off || !p.preempt, offInside || !p.intra
	q.NoIntraPreemption = q.intraOff || q.NoPreemption
	p.means(q)
}

func (p *parser) lists(q *Queue) {
	def := none
	if q.Parent == nil {
		def = everybody
	}
	list := func(key string, def acl.List) acl.List {
		if v, ok := p.settings[q.Path+"."+key]; ok && v != "" {
			return acl.Parse(v)
		}
		return def
	}
	q.Submit = list("acl_submit_applications", def)
	q.Administer = list("acl_administer_queue", def)
	q.MaxPriority = list("acl_application_max_priority", everybody)
	name, v := p.own(q.Path, "acl_application_max_priority", "")
	var ok bool
	if q.PriorityACLs, ok = priority.Parse(v); !ok {
		p.fail(name, v, "it must be such as [user=ann,bob group=staff max_priority=5 default_priority=1], as often as needed")
	}
}

var everybody = acl.Parse("*")

// global reads the settings of the scheduler as a whole.
func (p *parser) global() Settings {
	s := defaultSettings()
	number := func(key, def string, least int32) int { return int(p.integer(key, p.text(key, def), least)) }
	s.NodeLocalityDelay = number("node-locality-delay", "40", -1)
	s.RackLocalityDelay = number("rack-locality-additional-delay", "-1", -1)
	s.RackLocalityFullReset = p.truth("rack-locality-full-reset", true)
	s.ReservationsContinue = p.truth("reservations-continue-look-all-nodes", true)
	s.UserMaxParallel = int32(number("user.max-parallel-apps", "2147483647", 0))
	for key, v := range p.settings {
		rest, ok := strings.CutPrefix(key, "user.")
		if user, is := strings.CutSuffix(rest, ".max-parallel-apps"); ok && is && user != "" && strings.TrimSpace(v) != "" {
			if s.UsersMaxParallel == nil {
				s.UsersMaxParallel = map[string]int32{}
			}
			s.UsersMaxParallel[user] = p.integer(key, strings.TrimSpace(v), 0)
		}
	}
	s.Preemption = settings.Capacity(p.conf, p.truth, p.millis)
	if expiry := number(template.ExpiryKey, "300", 0); settings.Monitors(p.conf, "AutoCreatedQueueDeletionPolicy") {
		s.CreatedExpiry = max(1, time.Duration(expiry)) * time.Second
	}
	if settings.Monitors(p.conf, "QueueManagementDynamicEditPolicy") {
		s.EntitleEvery = p.conf.Duration("yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval")
	}
	s.Suspension = suspension.Of(p.conf)
	p.suspension = s.Suspension
	s.StagePolicy = leafpolicy.StageOf(p.conf)
	p.stages = s.StagePolicy
	p.preempt, p.intra = s.Preemption.Enabled, s.Preemption.Enabled && s.Preemption.Intra.Enabled
	return s
}
