# needs: perl
# modes: bare
# perl: files, forks, pipes, sockets by path.
perl -e '
use strict; use File::Temp "tempdir"; use File::Find; use IO::Socket::UNIX; use POSIX;
my $d = tempdir(CLEANUP => 1);
for (1..20) { open my $f, ">", "$d/$_" or die; print $f "x" x $_; }
my $n = 0; find(sub { $n += -s if -f }, $d); print "$n\n";
my @k; for my $i (1..5) { my $p = fork; if (!$p) { exit $i } push @k, $p }
my $s = 0; for (@k) { waitpid $_, 0; $s += $? >> 8 } print "$s\n";
open my $p, "-|", "echo piped" or die; print <$p>;
print `echo back`; system("exit 3"); print $? >> 8, "\n";
my $l = IO::Socket::UNIX->new(Local => "$d/s", Listen => 1) or die $!;
if (!fork) { my $c = IO::Socket::UNIX->new(Peer => "$d/s"); print $c "hello\n"; exit }
print scalar readline $l->accept; wait;
opendir my $h, $d; print scalar(grep /^\d+$/, readdir $h), "\n";
rename "$d/1", "$d/r" or die; print -e "$d/r" ? "r\n" : "no\n";
$SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select undef, undef, undef, 5;
print ((stat "$d/20")[7], "\n"); chmod 0751, "$d/20"; printf "%o\n", (stat "$d/20")[2] & 07777;
truncate "$d/20", 3; print -s "$d/20", "\n"; utime 5, 6, "$d/20"; print ((stat _)[9], "\n") if stat "$d/20";
'
