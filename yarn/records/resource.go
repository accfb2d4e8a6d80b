package records

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/yarn/pb"
)

// Indices of the two resource types that every cluster has.
const (
	Memory = 0 // in MiB
	VCores = 1
)

// MaxResourceTypes is the largest number of resource types, memory and vcores included, that a cluster can have. It is
// fixed so that a Resource is a plain array: no allocation and no map in the scheduler.
const MaxResourceTypes = 8

// Names of the two standard types on the wire.
const (
	MemoryName = "memory-mb"
	VCoresName = "vcores"
)

// Resource is an amount of every resource type, by index: memory in MiB, vcores, then the types of
// yarn.resource-types in their order. Unused places are 0.
type Resource [MaxResourceTypes]int64

// NewResource returns an amount of the two standard types.
func NewResource(memoryMB, vcores int64) Resource { return Resource{Memory: memoryMB, VCores: vcores} }

// MemoryMB returns the amount of memory in MiB.
func (r Resource) MemoryMB() int64 { return r[Memory] }

// MemoryBytes returns the amount of memory in bytes, at most the largest int64.
func (r Resource) MemoryBytes() int64 { return MulDiv(r[Memory], 1<<20, 1) }

// VCores returns the number of virtual cores.
func (r Resource) VCores() int64 { return r[VCores] }

// Add returns r + o. Amounts stay at the bounds of int64 where the sum would exceed them.
func (r Resource) Add(o Resource) Resource {
	for i := range r {
		r[i] = plus(r[i], o[i])
	}
	return r
}

// Sub returns r − o; it may be negative. Amounts stay at the bounds of int64.
func (r Resource) Sub(o Resource) Resource {
	for i := range r {
		r[i] = minus(r[i], o[i])
	}
	return r
}

// Times returns n·r. Amounts stay at the bounds of int64.
func (r Resource) Times(n int64) Resource {
	for i := range r {
		r[i] = MulDiv(r[i], n, 1)
	}
	return r
}

// Max returns the larger amount of each type.
func (r Resource) Max(o Resource) Resource {
	for i := range r {
		r[i] = max(r[i], o[i])
	}
	return r
}

// Min returns the smaller amount of each type.
func (r Resource) Min(o Resource) Resource {
	for i := range r {
		r[i] = min(r[i], o[i])
	}
	return r
}

// FitsIn reports whether r ≤ o in every type.
func (r Resource) FitsIn(o Resource) bool {
	for i := range r {
		if r[i] > o[i] {
			return false
		}
	}
	return true
}

// IsZero reports whether every amount is 0.
func (r Resource) IsZero() bool {
	return r[Memory] == 0 && r == Resource{} // most have memory, and the comparison of all is a call
}

// String returns <memory:M, vCores:V>, as Hadoop prints resources of the two standard types. It names further types by
// their index; ResourceTypes.Format knows their names.
func (r Resource) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r[Memory], r[VCores])
	for i := VCores + 1; i < len(r); i++ {
		if r[i] != 0 {
			fmt.Fprintf(&b, ", #%d: %d", i, r[i])
		}
	}
	b.WriteByte('>')
	return b.String()
}

// ResourceType is one countable resource.
type ResourceType struct {
	Name  string
	Units string // "" or one of p n u m k M G T P Ki Mi Gi Ti Pi, as in Hadoop's UnitsConversionUtil
}

// ResourceTypes is the ordered list of a cluster's resource types; memory-mb and vcores come first. The zero value is
// the list of just these two.
type ResourceTypes struct {
	more []ResourceType
}

// NewResourceTypes returns the two standard types followed by more. It fails if there are more than MaxResourceTypes in
// all, if a name is empty, repeated or standard, or if a unit is unknown.
func NewResourceTypes(more ...ResourceType) (ResourceTypes, error) {
	if len(more) > MaxResourceTypes-2 {
		return ResourceTypes{}, fmt.Errorf("%d resource types besides memory-mb and vcores: at most %d are possible",
			len(more), MaxResourceTypes-2)
	}
	seen := map[string]bool{MemoryName: true, VCoresName: true}
	for _, t := range more {
		if t.Name == "" || seen[t.Name] {
			return ResourceTypes{}, fmt.Errorf("resource type %q is empty or named twice", t.Name)
		}
		if _, ok := unitScale[t.Units]; !ok {
			return ResourceTypes{}, fmt.Errorf("resource type %s: unknown unit %q", t.Name, t.Units)
		}
		seen[t.Name] = true
	}
	return ResourceTypes{more: slices.Clone(more)}, nil
}

// Len returns the number of types, at least 2.
func (t ResourceTypes) Len() int { return 2 + len(t.more) }

// At returns the type at an index below Len.
func (t ResourceTypes) At(i int) ResourceType {
	switch i {
	case Memory:
		return ResourceType{Name: MemoryName, Units: "Mi"}
	case VCores:
		return ResourceType{Name: VCoresName}
	}
	return t.more[i-2]
}

// Index returns the index of a type's name.
func (t ResourceTypes) Index(name string) (int, bool) {
	for i := range t.Len() {
		if t.At(i).Name == name {
			return i, true
		}
	}
	return 0, false
}

// Format prints r as Hadoop's Resource.toString does, further types by name.
func (t ResourceTypes) Format(r Resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r[Memory], r[VCores])
	for i, m := range t.more {
		if v := r[i+2]; v != 0 {
			fmt.Fprintf(&b, ", %s: %d%s", m.Name, v, m.Units)
		}
	}
	b.WriteByte('>')
	return b.String()
}

// PB returns the wire form. Like Hadoop's it states memory and vcores twice: in fields of their own and in the map.
func (t ResourceTypes) PB(r Resource) *pb.Resource {
	m := &pb.Resource{}
	m.SetMemory(r[Memory])
	m.SetVirtualCores(Int32(r[VCores])) // as Hadoop does (ResourcePBImpl.castToIntSafely)
	infos := make([]*pb.ResourceInformation, t.Len())
	for i := range infos {
		typ := t.At(i)
		info := &pb.ResourceInformation{}
		info.SetKey(typ.Name)
		info.SetValue(r[i])
		info.SetUnits(typ.Units)
		info.SetType(pb.ResourceTypes_COUNTABLE)
		infos[i] = info
	}
	m.SetResourceValueMap(infos)
	return m
}

// From reads the wire form. Memory and vcores come from their own fields (Hadoop: ResourcePBImpl), further types from
// the map, converted to the type's unit. A type that the cluster doesn't have is an error unless its amount is 0. A nil
// message is the zero Resource.
func (t ResourceTypes) From(m *pb.Resource) (Resource, error) {
	r := Resource{Memory: m.GetMemory(), VCores: int64(m.GetVirtualCores())}
	for _, info := range m.GetResourceValueMap() {
		i, ok := t.Index(info.GetKey())
		if !ok {
			if info.GetValue() == 0 {
				continue
			}
			return Resource{}, fmt.Errorf("unknown resource type %q: the cluster has %s", info.GetKey(), t)
		}
		if i < 2 {
			continue
		}
		v, err := ConvertUnits(info.GetUnits(), t.At(i).Units, info.GetValue())
		if err != nil {
			return Resource{}, fmt.Errorf("resource type %s: %w", info.GetKey(), err)
		}
		r[i] = v
	}
	return r, nil
}

// String lists the types' names.
func (t ResourceTypes) String() string {
	names := make([]string, t.Len())
	for i := range names {
		names[i] = t.At(i).Name
	}
	return strings.Join(names, ", ")
}

// unitScale is the value of a unit as numerator and denominator (Hadoop: UnitsConversionUtil).
var unitScale = map[string][2]int64{
	"p": {1, 1_000_000_000_000}, "n": {1, 1_000_000_000}, "u": {1, 1_000_000}, "m": {1, 1000}, "": {1, 1},
	"k": {1000, 1}, "M": {1_000_000, 1}, "G": {1_000_000_000, 1}, "T": {1_000_000_000_000, 1},
	"P": {1_000_000_000_000_000, 1}, "Ki": {1 << 10, 1}, "Mi": {1 << 20, 1}, "Gi": {1 << 30, 1}, "Ti": {1 << 40, 1},
	"Pi": {1 << 50, 1},
}

// ConvertUnits converts an amount between units, truncating fractions. It fails for unknown units and on overflow.
func ConvertUnits(from, to string, v int64) (int64, error) {
	if from == to {
		return v, nil
	}
	f, ok := unitScale[from]
	if !ok {
		return 0, fmt.Errorf("unknown unit %q", from)
	}
	t, ok := unitScale[to]
	if !ok {
		return 0, fmt.Errorf("unknown unit %q", to)
	}
	num, den := f[0], f[1]
	if g := gcd(num, t[0]); g > 1 {
		num, t[0] = num/g, t[0]/g
	}
	if g := gcd(t[1], den); g > 1 {
		t[1], den = t[1]/g, den/g
	}
	for _, factor := range []int64{num, t[1]} {
		if v != 0 && factor > 1 && (v > (1<<63-1)/factor || v < -(1<<63-1)/factor) {
			return 0, fmt.Errorf("%d%s is too large in %s", v, from, strconv.Quote(to))
		}
		v *= factor
	}
	return v / den / t[0], nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
