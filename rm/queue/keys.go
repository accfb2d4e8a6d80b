package queue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/queue/known"
	"heddle/rm/queue/label"
	"heddle/rm/queue/leafpolicy"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/template"
)

// own returns a setting that only single queues have, without white space around it.
func (p *parser) own(path, key, def string) (name, value string) {
	name = path + "." + key
	return name, p.text(name, def)
}

// key returns the key of a queue's setting in the partition that is being read.
func (p *parser) key(q *Queue, name string) string { return q.Path + "." + label.Key(p.label) + name }

// of returns a queue's setting, or else the one for all queues.
func (p *parser) of(path, key, def string) (name, value string) {
	for _, name := range []string{path + "." + key, key} {
		if v := strings.TrimSpace(p.settings[name]); v != "" {
			return name, v
		}
	}
	return path + "." + key, def
}

func (p *parser) text(key, def string) string {
	if v := strings.TrimSpace(p.settings[key]); v != "" {
		return v
	}
	return def
}

// truth reads true or false. Anything else is the default, as in Hadoop.
func (p *parser) truth(key string, def bool) bool {
	v := strings.ToLower(p.text(key, strconv.FormatBool(def)))
	if v != "true" && v != "false" {
		p.warn(key, p.settings[key], fmt.Sprintf("it must be true or false; it counts as %t", def))
		return def
	}
	return v == "true"
}

// number reads a number with a minimum.
func (p *parser) number(name, value string, least float64) float64 {
	f, err := quantity.ParseNumber(value)
	if err != nil {
		p.failNumber(name, value, fmt.Sprintf("it must be a number, at least %g", least))
		return least
	}
	if f < least {
		p.fail(name, value, fmt.Sprintf("it must be a number, at least %g", least))
		return least
	}
	return f
}

// integer reads a 32-bit integer with a minimum.
func (p *parser) integer(name, value string, least int32) int32 {
	n, err := strconv.ParseInt(value, 10, 32)
	reason := fmt.Sprintf("it must be an integer from %d to %d", least, math.MaxInt32)
	if err != nil {
		p.failNumber(name, value, reason)
		return least
	}
	if n < int64(least) {
		p.fail(name, value, reason)
		return least
	}
	return int32(n)
}

func (p *parser) long(name, value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		p.fail(name, value, "it must be an integer")
		return -1
	}
	return n
}

// millis reads a duration in ms.
func (p *parser) millis(key, def string) time.Duration {
	n, err := strconv.ParseInt(p.text(key, def), 10, 64)
	switch {
	case err != nil:
		p.failNumber(key, p.settings[key], "it must be a number of ms, at least 0")
	case n < 0 || n > math.MaxInt64/int64(time.Millisecond):
		p.fail(key, p.settings[key], "it must be a number of ms, at least 0")
		n = 0
	}
	return time.Duration(n) * time.Millisecond
}

// unknownKeys reports each key that has no effect here, with the reason.
func (p *parser) unknownKeys(t *Tree) {
	var accepted []string
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		value := p.settings[key]
		switch {
		case value == "" || known.IsGlobal(key):
		case strings.HasPrefix(key, "user.") && strings.HasSuffix(key, ".max-parallel-apps"):
		case known.Accepted[key]:
			accepted = append(accepted, key)
		case known.Later(key):
			if value != "legacy" && value != "false" {
				p.warn(key, value, "has no effect: this is not supported")
			}
		case key == "root" || strings.HasPrefix(key, "root."):
			p.queueKey(t, key, value)
		default:
			p.warn(key, value, "is unknown to YARN's CapacityScheduler, and has no effect")
		}
	}
	if len(accepted) > 0 {
		p.problem(conf.Info, Prefix+accepted[0], "", "has no effect, because Heddle places containers when they are asked for and not "+
			"when nodes report; likewise: "+strings.Join(accepted[1:], ", "))
	}
}

// queueKey checks a key that begins with a queue's path.
func (p *parser) queueKey(t *Tree, key, value string) {
	q := t.Above(key)
	rest := strings.TrimPrefix(strings.TrimPrefix(key, q.Path), ".")
	switch {
	case known.Queue[rest], leafpolicy.IsSetting(rest), label.IsSetting(rest), template.IsSetting(rest):
	case strings.HasPrefix(rest, "user-settings.") && strings.HasSuffix(rest, ".weight"):
	case known.LaterOfQueue(rest):
		if value != "false" && value != "true" {
			p.warn(key, value, "has no effect: this is not supported")
		}
	case q.managed && known.Queue[rest[strings.LastIndexByte(rest, '.')+1:]]: // of a queue that may be created
	default:
		dot := max(0, strings.LastIndexByte(rest, '.'))
		if known.Queue[rest[dot:]] || dot > 0 && known.Queue[rest[dot+1:]] {
			p.warn(key, value, fmt.Sprintf("has no effect: there is no queue %s", conf.Shorten(q.Path+"."+rest[:dot])))
			return
		}
		p.warn(key, value, "is unknown to YARN's CapacityScheduler, and has no effect")
	}
}
