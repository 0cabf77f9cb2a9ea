# needs: java javac
# timeout: 180
# A JVM with threads, files, a process and a compiler.
cat >T.java <<'X'
import java.nio.file.*; import java.util.concurrent.*;
public class T { public static void main(String[] a) throws Exception {
 Path d = Files.createTempDirectory(Paths.get("."), "t"); Files.writeString(d.resolve("f"), "text");
 System.out.println(Files.readString(d.resolve("f")) + Files.size(d.resolve("f")));
 ExecutorService e = Executors.newFixedThreadPool(8); int s = 0;
 var l = new java.util.ArrayList<Future<Integer>>(); for (int i = 0; i < 50; i++) { int n = i; l.add(e.submit(() -> n * n)); }
 for (var f : l) s += f.get(); System.out.println(s); e.shutdown();
 Process p = new ProcessBuilder("echo", "child").start(); System.out.print(new String(p.getInputStream().readAllBytes())); System.out.println(p.waitFor());
 try (var ss = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
  new Thread(() -> { try (var c = new java.net.Socket(ss.getInetAddress(), ss.getLocalPort())) { c.getOutputStream().write(65); } catch (Exception x) { x.printStackTrace(); } }).start();
  System.out.println(ss.accept().getInputStream().read()); }
 try { Files.readString(Paths.get("none")); } catch (NoSuchFileException x) { System.out.println("none"); }
}}
X
javac -J-Xmx256m T.java && java -Xmx128m T
