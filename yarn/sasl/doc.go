// Package sasl is the DIGEST-MD5 mechanism (RFC 2831), by which Hadoop's peers prove that they have a token. It
// supports what Hadoop uses: all qualities of protection, the ciphers 3des and rc4, one realm, no authorization id, one exchange.
//
//	server → client  challenge   realm, nonce, qop, charset, algorithm
//	client → server  response    user name, nonce, client nonce, digest of them all and the password
//	server → client  rspauth     digest that proves that the server knows the password too
//
// After an exchange with Integrity or Privacy, each message travels as a token of the Protection.
//
// The user name is the Base64 of a token's identifier, and the password the Base64 of its password; Username and
// Password return them. Directives, their order and the texts of refusals are those of the JDK's
// com.sun.security.sasl.digest, which Hadoop's Java processes use.
package sasl
