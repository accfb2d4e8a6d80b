package ledger

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/shape"
)

// Encode returns the bytes of a batch as they are in the log.
func Encode(b *ledgerpb.Batch) ([]byte, error) {
	return proto.MarshalOptions{AllowPartial: true}.Marshal(b)
}

// Decode decodes a batch of the log. The error is a *NewerError if the batch has anything that this version doesn't know: a member that
// skipped it would have another ledger than the others from then on.
func Decode(data []byte) (*ledgerpb.Batch, error) {
	if v := batchVersion(data); v > Version {
		return nil, &NewerError{Version: v, Release: releaseIn(data)}
	}
	b := &ledgerpb.Batch{}
	if err := decode(data, b, batchShape); err != nil {
		return nil, err
	}
	return b, nil
}

func decode(data []byte, m proto.Message, known *shape.Shape) error {
	var unknown *shape.Unknown
	switch err := known.Check(data); {
	case errors.As(err, &unknown):
		return &NewerError{What: unknown.What}
	case err != nil:
		return err
	}
	return proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(data, m)
}

// releaseIn finds the release of Heddle in a batch that raises the version; "" if this is another batch.
func releaseIn(data []byte) string {
	b := &ledgerpb.Batch{}
	if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(data, b); err != nil {
		return ""
	}
	for _, c := range b.GetCommands() {
		if r := c.GetLedgerVersionRaised().GetRelease(); r != "" {
			return r
		}
	}
	return ""
}

// batchVersion finds the version of a batch without decoding the rest, whose form may be unknown to this release.
func batchVersion(data []byte) (version int32) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return version
		}
		data = data[n:]
		if number == versionField && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(data)
			version = int32(min(v, 1<<30))
		}
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return version
		}
		data = data[n:]
	}
	return version
}

var (
	batchShape   = shape.Of(&ledgerpb.Batch{})
	recordShape  = shape.Of(&ledgerpb.SnapshotRecord{})
	versionField = (&ledgerpb.Batch{}).ProtoReflect().Descriptor().Fields().ByName("version").Number()
)
