// Package metrics2 gives a daemon's metrics to the programs that get them from Hadoop's metrics system: the page /prom, which
// Prometheus reads, and the sinks of hadoop-metrics2.properties (conf/sinks): files, Graphite, StatsD and Ganglia. Names, tags and
// forms are those of Hadoop 3.4.2, so that dashboards and alerts keep working. The figures are those of /jmx.
package metrics2

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"heddle/yarn/rest/daemon"
)

// Record is a set of metrics with common tags (Hadoop: MetricsRecord).
type Record struct {
	Context, Name string
	Tags          []Tag
	Metrics       []Metric
}

// Tag is a property of a record. A tag without a value is "null" in some sinks and missing in others.
type Tag struct {
	Name, Value string
	Null        bool
}

// Metric is a figure of a record.
type Metric struct {
	Name    string
	Value   string // as Java writes it
	Counter bool   // it only rises; else it is a gauge
	Type    string // Ganglia's word for the type of the value: int32, float or double
}

// Records returns the records in beans. Beans without a context, such as those of the JVM, have none.
func Records(beans []daemon.Bean) []Record {
	var out []Record
	for _, b := range beans {
		r := Record{Name: recordName(b.Name)}
		for _, a := range b.Attrs {
			if tag, ok := strings.CutPrefix(a.Name, "tag."); ok {
				t := Tag{Name: tag, Value: fmt.Sprint(a.Value), Null: a.Value == nil}
				if t.Null {
					t.Value = "null"
				}
				if tag == "Context" {
					r.Context = t.Value
				}
				r.Tags = append(r.Tags, t)
				continue
			}
			if m, ok := metric(a); ok {
				r.Metrics = append(r.Metrics, m)
			}
		}
		if r.Context != "" {
			out = append(out, r)
		}
	}
	return out
}

// recordName returns the name of the record in a bean: Hadoop names beans after their sources, of which each port has its own.
func recordName(bean string) string {
	_, name, _ := strings.Cut(bean, "name=")
	name, _, _ = strings.Cut(name, ",")
	for prefix, record := range map[string]string{
		"RpcActivityForPort": "rpc", "RpcDetailedActivityForPort": "rpcdetailed", "HttpServer2-": "HttpServer2",
		"ContainerResource_": "ContainerResource",
	} {
		if strings.HasPrefix(name, prefix) {
			return record
		}
	}
	return name
}

func metric(a daemon.Attr) (Metric, bool) {
	m := Metric{Name: a.Name, Counter: counts(a.Name)}
	switch v := reflect.ValueOf(a.Value); {
	case !v.IsValid():
		return m, false
	case v.CanInt():
		m.Value, m.Type = strconv.FormatInt(v.Int(), 10), integerType(v.Int())
	case v.CanUint():
		n := int64(min(v.Uint(), math.MaxInt64))
		m.Value, m.Type = strconv.FormatInt(n, 10), integerType(n)
	case v.Kind() == reflect.Float32:
		m.Value, m.Type = javaFloat(v.Float(), 32), "float"
	case v.CanFloat():
		m.Value, m.Type = javaFloat(v.Float(), 64), "double"
	default:
		return m, false
	}
	if m.Counter { // most are of 64 bits
		m.Type = "float"
	}
	return m, true
}

// integerType is Ganglia's type of an integer; it has no 64 bits.
func integerType(n int64) string {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return "float"
	}
	return "int32"
}

// javaFloat writes a number as Java does: with a fraction, and NaN and Infinity in words.
func javaFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.Replace(strconv.FormatFloat(f, 'g', -1, 64)[:1], "+", "", 1) + "Infinity"
	case f == math.Trunc(f) && math.Abs(f) < 1e7:
		return strconv.FormatFloat(f, 'f', 1, bits)
	case math.Abs(f) >= 1e-3 && math.Abs(f) < 1e7:
		return strconv.FormatFloat(f, 'f', -1, bits)
	}
	text := strconv.FormatFloat(f, 'E', -1, bits)
	digits, exponent, _ := strings.Cut(text, "E")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	n, _ := strconv.Atoi(exponent) // it is always a number
	return digits + "E" + strconv.Itoa(n)
}

// counted are the names of counters that neither end with NumOps nor begin with Aggregate.
var counted = map[string]bool{
	"AppsSubmitted": true, "AppsCompleted": true, "AppsFailed": true, "AppsKilled": true, "UnmanagedAppsSubmitted": true,
	"UnmanagedAppsCompleted": true, "UnmanagedAppsFailed": true, "UnmanagedAppsKilled": true, "TokenFailure": true,
	"GcNumWarnThresholdExceeded": true, "GcNumInfoThresholdExceeded": true, "GcTotalExtraSleepTime": true,
	"DroppedPubAll": true, "ContainersLaunched": true, "ContainersCompleted": true, "ContainersFailed": true,
	"ContainersKilled":              true,
	"ContainersRolledBackOnFailure": true, "LocalizedCacheHitBytes": true, "LocalizedCacheMissBytes": true,
	"LocalizedCacheHitFiles":  true,
	"LocalizedCacheMissFiles": true, "ReceivedBytes": true, "SentBytes": true, "RpcAuthenticationFailures": true,
	"RpcAuthenticationSuccesses": true, "RpcAuthorizationFailures": true, "RpcAuthorizationSuccesses": true,
	"RpcCallSuccesses": true,
	"RpcClientBackoff": true, "RpcClientBackoffDisconnected": true, "RpcRequeueCalls": true, "RpcSlowCalls": true,
	"ShuffleOutputBytes": true, "ShuffleOutputsFailed": true, "ShuffleOutputsOK": true,
}

// counts reports whether a metric is a counter in Hadoop.
func counts(name string) bool {
	return counted[name] || strings.HasSuffix(name, "NumOps") || strings.HasPrefix(name,
		"GcCount") || strings.HasPrefix(name, "GcTimeMillis") ||
		strings.HasPrefix(name, "Aggregate") && !strings.Contains(name, ".")
}
