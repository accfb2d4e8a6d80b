package token

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/writable"
)

// Format is a serialization of credentials.
type Format byte

const (
	FormatWritable Format = 0 // Hadoop's default
	FormatProtobuf Format = 1
)

const credentialsMagic = "HDTS"

// Credentials are the tokens and secrets of an application. Containers find them in the file container_tokens;
// ContainerLaunchContext.tokens carries them. Their order is kept: decoding and encoding again yields the same bytes.
type Credentials struct {
	Tokens  []NamedToken
	Secrets []NamedSecret
}

// NamedToken is a token with its alias, which is often its service.
type NamedToken struct {
	Alias string
	Token Token
}

// NamedSecret is a secret with its alias.
type NamedSecret struct {
	Alias  string
	Secret []byte
}

// SetToken adds a token, or replaces the one with the same alias.
func (c *Credentials) SetToken(alias string, t Token) {
	for i := range c.Tokens {
		if c.Tokens[i].Alias == alias {
			c.Tokens[i].Token = t
			return
		}
	}
	c.Tokens = append(c.Tokens, NamedToken{alias, t})
}

// SetSecret adds a secret, or replaces the one with the same alias.
func (c *Credentials) SetSecret(alias string, secret []byte) {
	for i := range c.Secrets {
		if c.Secrets[i].Alias == alias {
			c.Secrets[i].Secret = secret
			return
		}
	}
	c.Secrets = append(c.Secrets, NamedSecret{alias, secret})
}

// OfKind returns the first token of a kind.
func (c *Credentials) OfKind(kind string) (Token, bool) {
	for _, t := range c.Tokens {
		if t.Token.Kind == kind {
			return t.Token, true
		}
	}
	return Token{}, false
}

// Secret returns the secret of an alias.
func (c *Credentials) Secret(alias string) ([]byte, bool) {
	for _, s := range c.Secrets {
		if s.Alias == alias {
			return s.Secret, true
		}
	}
	return nil, false
}

// Encode writes the credentials in a format. It fails for an unknown one.
func (c *Credentials) Encode(f Format) ([]byte, error) {
	b := append([]byte(credentialsMagic), byte(f))
	switch f {
	case FormatWritable:
		return c.appendWritable(b), nil
	case FormatProtobuf:
		m, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.PB())
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		return protowire.AppendBytes(b, m), nil
	default:
		return nil, fmt.Errorf("credentials: unknown format %d", f)
	}
}

func (c *Credentials) appendWritable(b []byte) []byte {
	b = writable.AppendVLong(b, int64(len(c.Tokens)))
	for _, t := range c.Tokens {
		b = t.Token.AppendWritable(writable.AppendText(b, t.Alias))
	}
	b = writable.AppendVLong(b, int64(len(c.Secrets)))
	for _, s := range c.Secrets {
		b = writable.AppendBytes(writable.AppendText(b, s.Alias), s.Secret)
	}
	return b
}

// PB returns the message of the protobuf format.
func (c *Credentials) PB() *pb.Credentials {
	m := &pb.Credentials{}
	tokens := make([]*pb.CredentialsKV, len(c.Tokens))
	for i, t := range c.Tokens {
		tokens[i] = &pb.CredentialsKV{}
		tokens[i].SetAlias(t.Alias)
		tokens[i].SetToken(t.Token.PB())
	}
	m.SetTokens(tokens)
	secrets := make([]*pb.CredentialsKV, len(c.Secrets))
	for i, s := range c.Secrets {
		secrets[i] = &pb.CredentialsKV{}
		secrets[i].SetAlias(s.Alias)
		secrets[i].SetSecret(notNil(s.Secret))
	}
	m.SetSecrets(secrets)
	return m
}

// ErrNoCredentials is the error for input that doesn't begin with the magic bytes of credentials.
var ErrNoCredentials = errors.New("no credentials: they begin with HDTS")

// DecodeCredentials reads either format. It ignores bytes after the credentials, because Spark sends its whole buffer.
// Of several tokens or secrets with one alias, the last one counts.
func DecodeCredentials(b []byte) (*Credentials, error) {
	if len(b) < len(credentialsMagic)+1 || string(b[:len(credentialsMagic)]) != credentialsMagic {
		return nil, ErrNoCredentials
	}
	f, rest := Format(b[len(credentialsMagic)]), b[len(credentialsMagic)+1:]
	var (
		c   *Credentials
		err error
	)
	switch f {
	case FormatWritable:
		c, err = readWritable(writable.NewReader(rest))
	case FormatProtobuf:
		c, err = readProtobuf(rest)
	default:
		err = fmt.Errorf("unknown format %d", f)
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return c, nil
}

// collector gathers credentials in the order of the input. Maps find an alias quickly, because a client may send
// many megabytes of them.
type collector struct {
	Credentials
	tokens, secrets map[string]int // places by alias
}

func newCollector() *collector {
	return &collector{tokens: map[string]int{}, secrets: map[string]int{}}
}

func (c *collector) addToken(alias string, t Token) {
	if i, ok := c.tokens[alias]; ok {
		c.Tokens[i].Token = t
		return
	}
	c.tokens[alias] = len(c.Tokens)
	c.Tokens = append(c.Tokens, NamedToken{alias, t})
}

func (c *collector) addSecret(alias string, secret []byte) {
	if i, ok := c.secrets[alias]; ok {
		c.Secrets[i].Secret = secret
		return
	}
	c.secrets[alias] = len(c.Secrets)
	c.Secrets = append(c.Secrets, NamedSecret{alias, secret})
}

func readWritable(r *writable.Reader) (*Credentials, error) {
	c := newCollector()
	n, err := r.VInt()
	if err != nil {
		return nil, fmt.Errorf("number of tokens: %w", err)
	}
	for i := range n {
		alias, err := r.Text()
		if err != nil {
			return nil, fmt.Errorf("alias of token %d of %d: %w", i+1, n, err)
		}
		t, err := Read(r)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", alias, err)
		}
		c.addToken(alias, t)
	}
	if n, err = r.VInt(); err != nil {
		return nil, fmt.Errorf("number of secrets: %w", err)
	}
	for i := range n {
		alias, err := r.Text()
		if err != nil {
			return nil, fmt.Errorf("alias of secret %d of %d: %w", i+1, n, err)
		}
		secret, err := r.Bytes()
		if err != nil {
			return nil, fmt.Errorf("secret %q: %w", alias, err)
		}
		c.addSecret(alias, secret)
	}
	return &c.Credentials, nil
}

func readProtobuf(b []byte) (*Credentials, error) {
	m, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, fmt.Errorf("length of the message: %w", protowire.ParseError(n))
	}
	var p pb.Credentials
	if err := proto.Unmarshal(m, &p); err != nil {
		return nil, err
	}
	c := newCollector()
	for _, kv := range p.GetTokens() {
		c.addToken(kv.GetAlias(), FromPB(kv.GetToken()))
	}
	for _, kv := range p.GetSecrets() {
		c.addSecret(kv.GetAlias(), kv.GetSecret())
	}
	return &c.Credentials, nil
}
