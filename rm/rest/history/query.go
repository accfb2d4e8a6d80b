package history

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/rm/ledger/usage"
)

// query is what a client asks for.
type query struct {
	of       string   // cluster, queues or users
	names    []string // only these; nil: all
	below    string   // only queues directly below this one
	from, to int64    // ms since 1970
	step     int64    // ms; 0: as the span has it
	limit    int      // series at most
	each     string   // of accounts: day, or "" for the whole span
	offset   int64    // ms that days are ahead of UTC
}

// Bounds of answers.
const (
	defaultPoints = 240
	maxPoints     = 2_000
	defaultLimit  = 20
	maxLimit      = 200
	maxNames      = 200
	maxAccounts   = 1_000 // users or queues
	defaultSpan   = 6 * time.Hour
	day           = 24 * time.Hour
	maxOffset     = 18 * time.Hour
)

var (
	historyParameters = []string{"below", "format", "from", "limit", "name", "of", "step", "to", "user.name", "doAs", "delegation"}
	usageParameters   = []string{"by", "each", "format", "from", "name", "to", "zone", "user.name", "doAs", "delegation"}
)

func known(v url.Values, names []string) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no parameter %.100q: there are %s", name, strings.Join(names[:len(names)-3], ", "))
		}
	}
	return nil
}

// parse reads the query of a request for the history at a time in ms since 1970.
func parse(v url.Values, now int64) (q query, err error) {
	if err = known(v, historyParameters); err != nil {
		return q, err
	}
	q.of, q.below, q.limit = v.Get("of"), v.Get("below"), defaultLimit
	switch q.of {
	case "":
		q.of = "cluster"
	case "cluster", "queues", "users":
	default:
		return q, fmt.Errorf("of is %.60q: it must be cluster, queues or users", q.of)
	}
	if q.below != "" && q.of != "queues" {
		return q, fmt.Errorf("below is for of=queues alone")
	}
	if err = q.readNames(v["name"]); err != nil {
		return q, err
	}
	if err = q.span(v, now, defaultSpan); err != nil {
		return q, err
	}
	if text := v.Get("limit"); text != "" {
		if q.limit, err = strconv.Atoi(text); err != nil || q.limit < 1 || q.limit > maxLimit {
			return q, fmt.Errorf("limit is %.60q: it must be a number from 1 to %d", text, maxLimit)
		}
	}
	if text := v.Get("step"); text != "" {
		s, err := strconv.ParseInt(text, 10, 32)
		if least := (q.to - q.from + maxPoints*1000 - 1) / (maxPoints * 1000); err != nil || s < 1 || s < least {
			return q, fmt.Errorf("step is %.60q: it must be a number of seconds, and at least %d for this span, as an answer has %d points at most", text, max(least, 1), maxPoints)
		}
		q.step = s * 1000
	}
	if q.step == 0 {
		q.step = (q.to - q.from) / defaultPoints
	}
	return q, nil
}

// parseUsage reads the query of a request for sums by day.
func parseUsage(v url.Values, now int64) (q query, err error) {
	if err = known(v, usageParameters); err != nil {
		return q, err
	}
	switch by := v.Get("by"); by {
	case "", "user":
		q.of = "users"
	case "queue":
		q.of = "queues"
	default:
		return q, fmt.Errorf("by is %.60q: it must be user or queue", by)
	}
	if q.each = v.Get("each"); q.each != "" && q.each != "day" {
		return q, fmt.Errorf("each is %.60q: it may be day", q.each)
	}
	if text := v.Get("zone"); text != "" {
		minutes, err := strconv.ParseInt(text, 10, 16)
		if q.offset = minutes * 60_000; err != nil || max(q.offset, -q.offset) > maxOffset.Milliseconds() || q.offset%usage.CoarseStep != 0 {
			return q, fmt.Errorf("zone is %.60q: it must be the minutes that local time is ahead of UTC, such as 60 or -330", text)
		}
	}
	if err = q.readNames(v["name"]); err != nil {
		return q, err
	}
	return q, q.span(v, now, day)
}

func (q *query) readNames(list []string) error {
	for _, text := range list {
		for name := range strings.SplitSeq(text, ",") {
			if name != "" {
				q.names = append(q.names, name)
			}
		}
	}
	if len(q.names) > maxNames {
		return fmt.Errorf("%d names are too many: at most %d", len(q.names), maxNames)
	}
	return nil
}

// span reads from when to when. Without from it is a span that ends at to.
func (q *query) span(v url.Values, now int64, span time.Duration) (err error) {
	if q.to, err = moment("to", v.Get("to"), now, now); err == nil {
		q.from, err = moment("from", v.Get("from"), now, q.to-span.Milliseconds())
	}
	if err == nil && q.from >= q.to {
		err = fmt.Errorf("from must be before to")
	}
	q.from = max(q.from, 0)
	return err
}

// moment reads a time: ms since 1970, or so long ago, such as 6h or 30d.
func moment(name, text string, now, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	wrong := fmt.Errorf("%s is %.60q: it must be a time in ms since 1970, or how long ago, such as 90m, 6h or 30d", name, text)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		if ms < 0 || ms > now+365*day.Milliseconds() {
			return 0, wrong
		}
		return ms, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, wrong
		}
		return now - int64(n)*day.Milliseconds(), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return now - d.Milliseconds(), nil
}

// wants reports whether a series is asked for.
func (q *query) wants(series string) bool {
	name, ok := "", series == usage.Cluster
	switch q.of {
	case "queues":
		name, ok = usage.QueueOf(series)
		if i := strings.LastIndexByte(name, '.'); ok && q.below != "" {
			ok = i >= 0 && name[:i] == q.below
		}
	case "users":
		name, ok = usage.UserOf(series)
	}
	return ok && (len(q.names) == 0 || slices.Contains(q.names, name))
}
