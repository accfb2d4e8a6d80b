package heddle.javahost;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executor;

/**
 * Messages: a length of four bytes, and a body. A request's body has the number of the request, an operation of one byte, and its
 * arguments; a reply's the same number, 0 for success or 1 for failure, and results or the error's text. Integers are big-endian. Texts and
 * bytes begin with their length, -1 for none.
 */
final class Wire {
  /** The longest body; nm/javahost has the same number. */
  static final int MAX = 80 << 20;

  private static final int MAX_ERROR = 8 << 10;

  private Wire() {}

  /** Executes an operation: its arguments are in request, and its results go to reply, which it returns. */
  interface Handler {
    Writer handle(int op, Reader request, Writer reply) throws Exception;
  }

  /**
   * Executes the requests of the program at the other end of descriptor 0, which is a socket. Then the process ends: when the program has gone, has asked for the
   * operation quit, or something is wrong with the socket or the memory.
   */
  static void serve(Executor threads, int quit, Handler handler) {
    System.setIn(new ByteArrayInputStream(new byte[0])); // the socket is ours alone
    OutputStream out = new FileOutputStream(FileDescriptor.in); // a socket is read and written by the same descriptor
    int status = 1;
    try {
      DataInputStream in = new DataInputStream(new FileInputStream(FileDescriptor.in));
      while (true) {
        byte[] body = read(in);
        threads.execute(() -> answer(body, out, quit, handler));
      }
    } catch (EOFException gone) {
      status = 0;
    } catch (Throwable lost) {
      lost.printStackTrace();
    }
    Runtime.getRuntime().halt(status);
  }

  /** Executes a request and replies, with the error if it fails. */
  static void answer(byte[] body, OutputStream out, int quit, Handler handler) {
    try {
      Reader request = new Reader(body);
      int id = request.integer();
      int op = request.octet();
      Writer reply;
      try {
        reply = handler.handle(op, request, ok(id));
      } catch (OutOfMemoryError dying) {
        throw dying;
      } catch (Throwable failed) {
        reply = failed(id, failed);
      }
      synchronized (out) {
        write(out, reply);
      }
      if (op == quit) {
        Runtime.getRuntime().halt(0);
      }
    } catch (Throwable lost) {
      lost.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  static byte[] read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 5 || length > MAX) {
      throw new IOException("a request of " + length + " bytes");
    }
    byte[] body = new byte[length];
    in.readFully(body);
    return body;
  }

  static void write(OutputStream out, Writer w) throws IOException {
    byte[] body = w.bytes.toByteArray();
    byte[] whole = ByteBuffer.allocate(4 + body.length).putInt(body.length).put(body).array();
    out.write(whole);
    out.flush();
  }

  static Writer ok(int id) {
    return new Writer().integer(id).octet(0);
  }

  /** The error with its causes, the first of them first. */
  static Writer failed(int id, Throwable error) {
    StringBuilder text = new StringBuilder();
    Throwable e = error;
    for (int depth = 0; e != null && depth < 10; depth++) {
      text.append(depth == 0 ? "" : ": caused by ").append(e);
      e = e.getCause();
    }
    if (text.length() > MAX_ERROR) {
      text.setLength(MAX_ERROR);
    }
    return new Writer().integer(id).octet(1).text(text.toString());
  }

  static final class Writer {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final DataOutputStream data = new DataOutputStream(bytes);

    Writer integer(int i) {
      try {
        data.writeInt(i);
      } catch (IOException never) {
        throw new IllegalStateException(never);
      }
      return this;
    }

    Writer number(long i) {
      try {
        data.writeLong(i);
      } catch (IOException never) {
        throw new IllegalStateException(never);
      }
      return this;
    }

    Writer octet(int i) {
      bytes.write(i);
      return this;
    }

    Writer bytes(byte[] b) {
      if (b == null) {
        return integer(-1);
      }
      integer(b.length);
      bytes.write(b, 0, b.length);
      return this;
    }

    Writer append(Writer other) {
      byte[] b = other.bytes.toByteArray();
      bytes.write(b, 0, b.length);
      return this;
    }

    Writer text(String s) {
      return bytes(s == null ? null : s.getBytes(StandardCharsets.UTF_8));
    }
  }

  static final class Reader {
    private final ByteBuffer body;

    Reader(byte[] body) {
      this.body = ByteBuffer.wrap(body);
    }

    int integer() {
      return body.getInt();
    }

    int octet() {
      return body.get();
    }

    long number() {
      return body.getLong();
    }

    byte[] bytes() {
      int length = body.getInt();
      if (length < 0) {
        return null;
      }
      byte[] b = new byte[Math.min(length, body.remaining())];
      body.get(b);
      return b;
    }

    String text() {
      byte[] b = bytes();
      return b == null ? null : new String(b, StandardCharsets.UTF_8);
    }

    String[] texts() {
      String[] all = new String[integer()];
      for (int i = 0; i < all.length; i++) {
        all[i] = text();
      }
      return all;
    }
  }
}
