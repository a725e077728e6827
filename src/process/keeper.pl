# The keeper: one for each run, as small as a shell. It starts the harness, waits for it, and records its exit.
# Perl, because that is on every Linux and macOS machine, waits for exact exit statuses, and can make the two system
# calls that containment needs without anything to compile. No modules: they would triple its memory.
#
#   blocked    reads descriptor 3 until end of file. Without a final "go" the launcher has died: nothing is started.
#   owning     takes the kernel's locks on the files that stand for the session and its conversation, outside of the state
#              directory, and holds them for as long as it, or the finaliser it becomes, lives. Held by another: nothing is started.
#   forked     the child puts its own identity on disk, then executes the harness. It dies with the keeper.
#   waiting    collects every child; as subreaper it inherits the orphans of the whole tree.
#              Where the run has a budget, it now and then starts a watcher, one at a time, which holds the run to it.
#              Inside another run it also looks for that one's keeper, and when it is gone has a watcher deal with it.
#   recording  puts the exit on disk by rename, again and again while the disk is full.
#   sweeping   ends what the harness left behind, until the kernel says that there is no child any more.
#   finalising becomes the finaliser, in the same process, which ends the rest and writes the outcome.
#
# In a pane of tmux, which started it, it has no descriptors from its launcher: the order comes through the pipe `order`
# in the run's directory, and the report is left there as a file.
# Where the harness has a terminal, the loss of that ends it: hang-up, then a request to end, then SIGKILL. The keeper is
# told of it by a signal, and looks now and then as well.
# Over a process that was running already it only watches: it cannot know how that ended, but what it left is ended.
#
# Arguments: run directory, run id, title, group (own, shared, pane or adopted), how the launcher was tied to a terminal
# (none, kept, apart or own; see terminal.ts), cgroup or nothing, numbers of the system calls prctl, madvise, fsync
# and prlimit64 (0 where not known), in how many seconds to start the first watcher (0 for none), the program of the watcher, then the
# command of the finaliser, whose first word is the program that runs both.
# Message on descriptor 3, fields separated by NUL: number of environment entries for the watcher and the finaliser, those,
# directory, number of files to hold (or names in the kernel, with an @ before them), those, what to announce in them, number of the harness's environment entries, those,
# number of words of the command, those, "go".
use strict;

# Standard error is the harness's: not a word of the keeper may get into it.
$SIG{__WARN__} = sub { };

my ($run_dir, $run_id, $title, $group, $tie, $cgroup, $prctl, $madvise, $fsync, $prlimit, $first_look,
    $watcher_program, @finaliser) = @ARGV;
my $PR_SET_PDEATHSIG = 1;
my $PR_SET_CHILD_SUBREAPER = 36;
my $MADV_DONTNEED = 4;
my $SIGKILL = 9;
my $WNOHANG = 1;
my $MAX_NAMED = 20;
my $SWEEP_GRACE_SECONDS = 3; # Of a clock without fractions: between two and three.
my $SWEEP_LIMIT_SECONDS = 8; # Beyond this something cannot be killed, and the finaliser names it.
my $HANGUP_LOOKS = 20; # A second together; longer, and somebody has only sent the signal.
my $TERMINAL_SECONDS = 5; # How soon a hang-up is noticed that nobody passed on. A look is a system call and a small file.
my $SIGHUP = 1;
my $HANGUP_GRACE_SECONDS = 2; # For a harness that does not care about a hang-up, until it is asked to end.
my $ASKED_GRACE_SECONDS = 5; # As much as it needs to save what it has.
my $SEEN_GRACE_SECONDS = 1; # Whoever retires the run waits two for the record, which comes after this.
my $WATCH_SECONDS = 0.2; # How soon what an adopted harness leaves behind is ended.
my $LOOK_LIMIT_SECONDS = 120; # A watcher that ends the run waits for its grace and its proofs; this is beyond both.
my $LOOK_AGAIN_SECONDS = 30; # After one that could not say when: killed, or the store was away.
my $OWNER_SECONDS = 1; # How soon a run learns that the keeper above it was killed. A look reads two small files.
my $EINTR = 4;
my $HOLD_LIMIT_SECONDS = 8; # For an owner that is over on record to be gone; the launcher waits ten for a report.
my $FINALISER_TRIES = 30; # One a second: an update takes a few. Whoever looks next finalises from the record otherwise.
my $RECORD_TRIES = 600; # One a second: ten minutes for somebody to free disk space before the exit counts as unknown.

# What ends a terminal or a session must not end the one process that can say how the harness ended.
my @WEATHERED = qw(HUP INT QUIT TERM PIPE TSTP TTIN TTOU USR1 USR2);
$SIG{$_} = 'IGNORE' for @WEATHERED;
# With the run's id, by which also another user of the state directory knows that it lives.
$0 = "reeve-keeper $title $run_id";
# What it writes is for its user alone; the harness gets back what the user has.
my $umask = umask 077;
chdir $run_dir;
# Without this nothing could be proven of what is left, so nothing is started.
my $unfit = $prctl && syscall($prctl, $PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ? "it cannot become a subreaper: $!" : undef;

my $is_pane = $group eq 'pane';
# Whoever started the run under nohup, or in the background of a script, has taken every terminal away from it.
my ($terminal) = $is_pane ? \*STDIN : grep { is_terminal($_) } \*STDIN, \*STDOUT, \*STDERR;
my $has_controlling = $tie eq 'own' || controlling_terminal();
my $is_addressed = is_addressed();
my $report;
unless ($is_pane) {
    open($report, '>&=', 4) or exit 1;
    select((select($report), $| = 1)[0]);
}

my $message = $is_pane ? read_pipe("$run_dir/order") : read_all(3);
my @fields = split /\0/, $message, -1;
my %secrets = map { split /=/, $_, 2 } splice @fields, 0, shift(@fields) // 0;
my ($directory, $hold_size) = splice @fields, 0, 2;
my @to_hold = splice @fields, 0, $hold_size // 0;
my ($announcement, $environment_size) = splice @fields, 0, 2;
my %environment = map { split /=/, $_, 2 } splice @fields, 0, $environment_size // 0;
my ($command_size, @command) = @fields;
my $last = pop @command;
# Whole only if every word came: a command cut short could do harm.
unless (defined $last && $last eq 'go' && $command_size =~ /^[1-9]\d*$/ && @command == $command_size) {
    my $record = record(qq("notStarted":"its launcher died before letting it go"));
    rmdir $cgroup if $cgroup ne ''; # Nobody else may know of it yet.
    finalise($record);
}
# For the watcher and the finaliser. Not before it is known to be whole: a password cut short, or a host, is another's.
@ENV{keys %secrets} = values %secrets;
my @open_until_exec;
my $is_born_inside = 0;
my %held; # Path to handle.
my $otherwise = '.'; # Where the run's directory is when its path leads there no more.

checkpoint('keeper.released');
my $oom_before = oom_kills();
my ($harness, $problem) = (undef, $unfit // hold($announcement, time + $HOLD_LIMIT_SECONDS, @to_hold));
checkpoint('keeper.holding');
($harness, $problem) =
    $group eq 'adopted' ? adopt(@command) : is_hung_up() ? (undef, 'its terminal was closed before it started') : start_harness()
    unless defined $problem;
if (defined $problem) {
    my $record = record('"notStarted":"' . escaped($problem) . '"');
    announce("failed $problem\n");
    finalise($record);
}
my ($hung_up, $was_asked) = (0, 0);
# The timer is the watcher's until the terminal is gone: when to start the next, or by when the one there has to be done.
my ($watcher, $is_poked, $owner_pause) = (0, 0, 0);
# In how many seconds that is, or 0 for never; and how many of them the timer was set to, for it has the terminal to look at too.
my ($due, $slice) = (0, 0);
$SIG{ALRM} = \&ring;
# Somebody has changed a budget. The one who looks already may have read the old one.
$SIG{USR1} = sub { if ($watcher) { $is_poked = 1; } elsif (!$hung_up) { look(); } };
# The harness has named its conversation: the run is to own that too.
$SIG{USR2} = sub {
    local ($!, $?);
    my ($own) = map { $held{$_} } grep { !/^@/ } keys %held or return;
    seek $own, 0, 0;
    hold(do { local $/; <$own> }, time, split /\n/, slurp(in_run('hold')));
};
if (defined $terminal) {
    # The kernel tells the leader of the terminal's session, which this process is in a pane; elsewhere that is a shell,
    # which tells its jobs, or the launcher, which tells this process. When the leader dies, the foreground is told.
    $SIG{HUP} = sub {
        local ($!, $?);
        hang_up() if !$hung_up && becomes_hung_up();
    };
    # A hang-up until now went unheard, and no other comes.
    hang_up() if is_hung_up();
}
ring_in($first_look);
checkpoint('keeper.executing');
announce("executing $harness\n");
give_back_memory();

if ($group eq 'adopted') {
    my $seen_at = watch($harness, $command[1]);
    stop_looking();
    end_seen();
    # What it started bears its mark at most, and whoever bears that and came later may be another's.
    finalise(record(qq("pid":$harness,"adopted":true,"uptime":) . ($seen_at eq '' ? 'null' : qq("$seen_at"))));
}
my $status;
while (1) {
    my $ended = wait_for_child();
    if ($ended == $harness) { $status = $?; last; }
    if ($watcher && $ended == $watcher) { looked(); next; }
    last if $ended == -1 && $! != $EINTR;
}
$SIG{$_} = 'IGNORE' for qw(HUP ALRM);
# The harness may have heard of it first, and died before the terminal was gone.
$hung_up ||= ($status // 0) == $SIGHUP ? becomes_hung_up() : is_hung_up();
stop_looking();
checkpoint('keeper.exited');
my $record = '';
if (defined $status) {
    my ($code, $signal) = ($status >> 8, $status & 127);
    my $oom = defined $oom_before ? oom_kills() - $oom_before : 'null';
    my $uptime = first_word('/proc/uptime');
    $record = record(join ',',
        '"pid":' . $harness,
        '"code":' . ($signal ? 'null' : $code),
        '"signal":' . ($signal ? $signal : 'null'),
        '"uptime":' . ($uptime eq '' ? 'null' : qq("$uptime")),
        '"oomKills":' . $oom,
        '"hungUp":' . ($hung_up ? 'true' : 'false'),
        '"left":[' . named_leftovers() . ']');
}
checkpoint('keeper.recorded');
sweep();
rmdir $cgroup if $cgroup ne ''; # Fails while anything is in it, and then the finaliser sees to it.
finalise($record);

sub announce {
    my ($text) = @_;
    if ($is_pane) { write_file('report', $text); return; }
    print $report $text;
    close $report;
}

# One that was closed by now is none any more, but whatever is done with it fails. Only the launcher can tell whether it
# was there when the run was asked for, or had long been closed, and somebody works on without it.
sub is_terminal {
    my $EIO = 5;
    return -t $_[0] || $tie =~ /^(own|apart)$/ && $! == $EIO;
}

# Of a terminal that was closed the kernel says that it is none any more; of one whose session's leader died, that this
# process has none. In a pane there is one, or it is gone already.
sub is_hung_up { return defined $terminal && (!-t $terminal || $has_controlling && !controlling_terminal()); }

# When the leader of its session dies, the kernel tells first and takes the terminal away then.
sub becomes_hung_up {
    return 0 unless defined $terminal;
    for (1 .. $HANGUP_LOOKS) {
        return 1 if is_hung_up();
        checkpoint('keeper.doubting');
        select undef, undef, undef, 0.05;
    }
    return 0;
}

# Its number, or 0 for none; on a system that does not tell, nothing.
sub controlling_terminal { return (stat_fields('self'))[4]; }

# Whether the kernel means this process with a hang-up: the leader of the terminal's session, or its foreground. What is in
# the background is told by its shell, or left alone on purpose.
sub is_addressed {
    my (undef, undef, $own_group, $leader, $number, $foreground) = stat_fields('self');
    return $number && ($leader == $$ || $own_group == $foreground);
}

# Who was to pass the hang-up on may be held up or gone, and a signal that comes right before a wait is heard only after it.
sub misses_hang_up {
    return 0 unless defined $terminal && $has_controlling;
    return $is_addressed if is_hung_up();
    $is_addressed = is_addressed();
    return 0;
}

sub hang_up {
    return if $hung_up++;
    kill 'HUP', $harness;
    kill 'CONT', $harness;
    $SIG{ALRM} = \&end_hung_up;
    alarm $HANGUP_GRACE_SECONDS;
}

# Opened without waiting, so that a launcher that is gone already is end of file and not a wait for ever: as long as it
# lives, it holds the other end.
sub read_pipe {
    my ($O_RDONLY, $O_NONBLOCK, $F_SETFL) = (0, $^O eq 'darwin' ? 4 : 2048, 4);
    sysopen my $pipe, $_[0], $O_RDONLY | $O_NONBLOCK or return '';
    fcntl $pipe, $F_SETFL, $O_RDONLY;
    binmode $pipe;
    # Its length comes first: the launcher holds the pipe until it has the report, for what is in a pipe that nobody has
    # open is lost, and so there is no end of file to wait for.
    my $length = <$pipe> // 0;
    read $pipe, my $text, $length;
    unlink $_[0];
    return $text // '';
}

# For a harness that does not care about a hang-up.
sub end_hung_up {
    if ($was_asked++) { kill 'KILL', $harness; return; }
    kill 'TERM', $harness;
    alarm $ASKED_GRACE_SECONDS;
}

sub ring {
    local ($!, $?);
    return hang_up() if misses_hang_up();
    if (!$due || ($due -= $slice) > 0) { set_timer(); }
    elsif (!$watcher) { look(); }
    else { kill 'KILL', $watcher; ring_in(0); }
}
sub ring_in { $due = $_[0]; set_timer(); }
sub set_timer {
    return if $hung_up;
    $slice = $due;
    $slice = $TERMINAL_SECONDS if defined $terminal && $has_controlling && (!$due || $due > $TERMINAL_SECONDS);
    alarm $slice;
}

# Starts a watcher. It is in nobody's terminal, and dies of whatever signal it gets: the next one goes on.
sub look {
    local ($!, $?);
    unlink in_run('watch');
    my $own_handler = $SIG{USR1};
    $SIG{USR1} = 'IGNORE'; # Or the child might take it for its own, and fork in turn.
    my $child = fork;
    if (defined $child && $child == 0) {
        setpgrp(0, 0);
        open STDIN, '<', '/dev/null';
        open $_, '>', '/dev/null' for *STDOUT, *STDERR;
        exec { $finaliser[0] } $finaliser[0], $watcher_program, $run_id;
        exit 1;
    }
    $SIG{USR1} = $own_handler;
    $watcher = $child // 0;
    ring_in($watcher ? $LOOK_LIMIT_SECONDS : $LOOK_AGAIN_SECONDS);
}

# A run inside another one is dealt with when that ends, by whoever ends it; but nobody does when its keeper was killed.
# `owner` has the pid and the start time of that keeper, and is away when there is none to look for: then this blocks. The
# signal of a child cuts the pause short; one that comes right before it is seen a pause later.
sub wait_for_child {
    local $SIG{CHLD} = sub { };
    while (-e in_run('owner')) {
        my $ended = waitpid -1, $WNOHANG;
        return $ended if $ended;
        watch_owner();
        select undef, undef, undef, $OWNER_SECONDS;
    }
    $SIG{CHLD} = 'DEFAULT';
    return wait();
}

# Whether it is really gone is for the watcher to say, which is then not bothered again at once.
sub watch_owner {
    return if $hung_up || $watcher || $owner_pause-- > 0;
    $owner_pause = 0;
    my ($pid, $start) = split ' ', slurp(in_run('owner'));
    return if !defined $start || is_there($pid, $start);
    $owner_pause = $LOOK_AGAIN_SECONDS / $OWNER_SECONDS;
    look();
}
sub is_there {
    my ($pid, $start) = @_;
    return start_of($pid) eq $start if -e "/proc/$$/stat";
    my $ESRCH = 3;
    return kill(0, $pid) || $! != $ESRCH;
}

# It has left in how many seconds the next is due, or 0 for none. One that was cut short leaves nothing.
sub looked {
    $watcher = 0;
    return if $hung_up;
    my $next = first_word(in_run('watch'));
    ring_in($is_poked ? 1 : $next =~ /^\d+$/ ? $next : $LOOK_AGAIN_SECONDS);
    $is_poked = 0;
}

# What the watcher was about to do is done by the finaliser: its intent is on record, or it did not come to have one.
sub stop_looking {
    $SIG{$_} = 'IGNORE' for qw(ALRM USR1 USR2);
    alarm 0;
    return unless $watcher;
    kill 'KILL', $watcher;
    waitpid $watcher, 0;
    $watcher = 0;
}

# Undefined when all are held; otherwise why not. Whoever removes such a file holds it: so a lock counts only on the file
# that is still there by that name.
sub hold {
    my ($text, $deadline, @paths) = @_;
    my ($LOCK_EX_NB, $O_RDWR) = (2 | 4, 2);
    my ($O_CREAT, $EWOULDBLOCK) = $^O eq 'darwin' ? (512, 35) : (64, 11);
    for my $path (grep { !$held{$_} } @paths) {
        my $refused = $path =~ /^@/ ? hold_name($path, $deadline) : undef;
        return $refused if defined $refused;
        until ($held{$path} || $path =~ /^@/) {
            sysopen my $file, $path, $O_RDWR | $O_CREAT, 0600 or return "cannot open $path: $!";
            checkpoint('keeper.opened');
            if (flock $file, $LOCK_EX_NB) {
                next unless join(' ', (stat $file)[0, 1]) eq join(' ', (stat $path)[0, 1]);
                truncate $file, 0;
                syswrite $file, $text;
                $held{$path} = $file;
            } elsif ($! != $EWOULDBLOCK) {
                return "cannot lock $path: $!";
            } else {
                return 'it is held by ' . (first_line($file) || 'another process') if time >= $deadline;
                select undef, undef, undef, 0.01;
            }
        }
    }
    return undef;
}

# A name that the kernel itself keeps, whatever directories the user's environment leads to: a socket that is bound for as
# long as it is open. One that another user has bound is in nobody's way.
sub hold_name {
    my ($path, $deadline) = @_;
    my ($AF_UNIX, $SOCK_STREAM_NB, $EADDRINUSE, $SOL_SOCKET, $SO_PEERCRED) = (1, 1 | 2048, 98, 1, 17);
    my $address = pack 'Sa*', $AF_UNIX, "\0" . substr $path, 1;
    my $who;
    while (1) {
        socket my $socket, $AF_UNIX, $SOCK_STREAM_NB, 0 or return "cannot make a socket: $!";
        if (bind $socket, $address) {
            listen $socket, 64 or return "cannot listen: $!";
            $held{$path} = $socket;
            return undef;
        }
        return "cannot bind a socket: $!" unless $! == $EADDRINUSE;
        # Asked once: it is never accepted, and waits in a list of that length.
        if (!defined $who && connect $socket, $address) {
            my ($pid, $user) = unpack 'iI', getsockopt($socket, $SOL_SOCKET, $SO_PEERCRED) // '';
            return undef if defined $user && $user != $<;
            $who = defined $pid ? slurp("/proc/$pid/cmdline") =~ s/\0.*//sr . " (pid $pid)" : undef;
        }
        return 'it is held by ' . ($who // 'another process') if time >= $deadline;
        select undef, undef, undef, 0.01;
    }
}

# Nothing of a line that is not whole: its writer was cut off, or is at it.
sub first_line {
    my ($file) = @_;
    my $line = <$file> // '';
    return $line =~ s/\s*\n\z// ? $line : '';
}

# The process is what it was when it was found, or nothing is watched.
sub adopt {
    my ($pid, $start) = @_;
    return (undef, 'it had ended before it could be watched') unless start_of($pid) eq $start;
    write_file('started.json', qq({"version":1,"run":"$run_id","pid":$pid,"startTime":"$start","oomKills":null}\n))
        or return (undef, "cannot write to the state directory: $!");
    return ($pid, undef);
}

# Whoever descends from it is remembered, for after its end nothing else tells.
my %seen_below;
sub watch { # Answers when it was seen alive last, in seconds since boot.
    my ($pid, $start) = @_;
    my $seen_at = '';
    while (1) {
        my $now = first_word('/proc/uptime');
        return $seen_at unless start_of($pid) eq $start;
        $seen_at = $now;
        for my $member (descendants($pid)) { $seen_below{$member} //= start_of($member); }
        looked() if $watcher && waitpid($watcher, $WNOHANG) == $watcher;
        select undef, undef, undef, $WATCH_SECONDS;
    }
}

sub end_seen {
    my $is_left = sub { grep { $seen_below{$_} ne '' && start_of($_) eq $seen_below{$_} } keys %seen_below };
    for my $round (1 .. 10 * $SEEN_GRACE_SECONDS) {
        my @left = $is_left->() or return;
        # Children of what was seen may be new.
        for my $member (map { descendants($_) } @left) { $seen_below{$member} //= start_of($member); }
        if ($round == 1) { kill 'TERM', $_ for @left; kill 'CONT', $_ for @left; }
        select undef, undef, undef, 0.1;
    }
    kill 'KILL', $_ for $is_left->();
}

# Empty for what is gone, and for what has exited and only waits to be collected. A program whose main thread has ended
# looks like that too, and works on: it has more threads than the one.
sub start_of {
    my @fields = stat_fields($_[0]) or return '';
    return $fields[0] =~ /[ZX]/ && $fields[17] <= 1 ? '' : $fields[19];
}

# From the state on, which is behind the name: that may contain anything.
sub stat_fields { return slurp("/proc/$_[0]/stat") =~ /.*\)\s+(.*)$/s ? split / /, $1 : (); }

sub start_harness {
    pipe(my $failure_in, my $failure_out) or return (undef, "no pipe for it: $!");
    my $keeper = $$;
    my $child = fork_into_cgroup();
    return (undef, "no process for it: $!") unless defined $child;
    if ($child == 0) {
        close $failure_in;
        my $failed = become_harness($keeper);
        print $failure_out $failed;
        close $failure_out;
        exit 127;
    }
    close $failure_out; # Open only in the child now, and closed there by a successful exec.
    my $failed = do { local $/; <$failure_in> };
    return ($child, undef) if !defined $failed || $failed eq '';
    waitpid $child, 0;
    return (undef, $failed);
}

# Born inside its cgroup, there is no moment in which the harness is outside of it; and moving it there afterwards would
# wait for a grace period of the kernel, some 15 ms. Kernels or sandboxes without clone3 get a fork, and the move.
sub fork_into_cgroup {
    my ($clone3, $CLONE_INTO_CGROUP, $SIGCHLD) = (435, 0x200000000, 17);
    if ($cgroup ne '' && sysopen my $directory_of_it, $cgroup, 0) {
        my $arguments = pack 'Q11', $CLONE_INTO_CGROUP, 0, 0, 0, $SIGCHLD, 0, 0, 0, 0, 0, fileno $directory_of_it;
        my $child = syscall($clone3, $arguments, length $arguments);
        $is_born_inside = $child != -1;
        return $child if $is_born_inside;
    }
    return fork;
}

# Returns only when it failed, with the reason.
sub become_harness {
    my ($keeper) = @_;
    checkpoint('harness.forked');
    if ($prctl) {
        syscall($prctl, $PR_SET_PDEATHSIG, $SIGKILL, 0, 0, 0);
        return 'its keeper died' if getppid() != $keeper;
    }
    $SIG{$_} = 'DEFAULT' for @WEATHERED;
    # Its own group, so that a harness that signals its group does not hit the keeper, and a signal to the launcher's
    # group reaches it once, forwarded. In a terminal's foreground it shares that group, or it could not read the terminal.
    setpgrp(0, 0) if $group eq 'own';
    chdir $directory or return "cannot enter the directory $directory: $!";
    $otherwise = $run_dir;
    if ($cgroup ne '' && !$is_born_inside && open my $procs, '>', "$cgroup/cgroup.procs") { print $procs "0\n"; close $procs; }
    my $start = (stat_fields('self'))[19] // '';
    my $oom = $oom_before // 'null';
    my $mark = take_mark();
    write_file('started.json', qq({"version":1,"run":"$run_id","pid":$$,"startTime":"$start","oomKills":$oom,"mark":$mark}\n))
        or return "cannot write to the state directory: $!";
    close_inherited();
    %ENV = %environment;
    umask $umask;
    exec { $command[0] } @command;
    return "cannot execute $command[0]: $!";
}

# The limit of file locks, which Linux keeps and hands on but has long ceased to enforce, as a number of the run's own: all
# that descends from the harness bears it, whatever becomes of its environment. It can only be lowered, so inside another
# run it is taken from the upper half of what is left. "null" where the kernel does not show it as it was set.
sub take_mark {
    my ($RLIMIT_LOCKS, $LEAST) = (10, 2**32);
    my $limits = $prlimit ? eval { pack 'Q2', 0, 0 } : undef;
    return 'null' unless defined $limits && syscall($prlimit, 0, $RLIMIT_LOCKS, 0, $limits) == 0;
    my (undef, $hard) = unpack 'Q2', $limits;
    my $half = $hard >> 63 ? 1 << 62 : $hard >> 1;
    return 'null' unless $half >= $LEAST && open my $source, '<:raw', '/dev/urandom';
    return 'null' unless sysread($source, my $random, 8) == 8;
    my $mark = $half + unpack('Q', $random) % $half;
    return 'null' unless syscall($prlimit, 0, $RLIMIT_LOCKS, pack('Q2', $mark, $mark), 0) == 0;
    return slurp('/proc/self/limits') =~ /^Max file locks +$mark +$mark /m ? qq("$mark") : 'null';
}

# Descriptors that Perl opened close themselves on exec; those that came with this process must be told to.
sub close_inherited {
    my ($F_SETFD, $FD_CLOEXEC) = (2, 1);
    my @numbers = (3, 4);
    if (opendir my $list, -d '/proc/self/fd' ? '/proc/self/fd' : '/dev/fd') {
        @numbers = grep { /^\d+$/ && $_ > 2 } readdir $list;
        closedir $list;
    }
    for my $number (@numbers) {
        open my $handle, '<&=', $number or next;
        fcntl $handle, $F_SETFD, $FD_CLOEXEC;
        push @open_until_exec, $handle; # Letting go of the handle would close the number at once.
    }
}

# Of the run's directory. This process has been in it from the start, and can still write there when the way to it was
# moved or closed; removed and made anew, it is found by its path.
sub in_run { return (-d $run_dir ? $run_dir : $otherwise) . "/$_[0]"; }

sub record {
    my ($fields) = @_;
    my $text = qq({"version":1,"run":"$run_id",$fields}\n);
    for my $try (1 .. $RECORD_TRIES) {
        last if write_file('exit.json', $text) || !(stat in_run(''))[3]; # A directory without a link was removed.
        sleep 1;
    }
    return $text;
}

# What the harness left behind has become this process's child, for it is the subreaper. It is ended here, by what needs
# neither memory nor a process nor the store, and while every signal of a terminal is still weathered. A child's pid is
# not reused before it is collected, so nobody else can be hit; and "no child" is the kernel's word.
sub sweep {
    return unless $prctl && -e "/proc/$$/task/$$/children";
    my ($began, %asked) = (time);
    while ((my $collected = waitpid -1, $WNOHANG) != -1) {
        next if $collected > 0;
        my $elapsed = time - $began;
        return if $elapsed >= $SWEEP_LIMIT_SECONDS || !own_children();
        my $is_killing = $elapsed >= $SWEEP_GRACE_SECONDS;
        # Asked are all below, killed only the children: what a killed child leaves becomes a child in turn.
        for my $member ($is_killing ? own_children() : map { ($_, descendants($_)) } own_children()) {
            if ($is_killing) { kill 'KILL', $member; }
            elsif (!$asked{$member}++) { kill 'TERM', $member; kill 'CONT', $member; }
        }
        select undef, undef, undef, 0.01 unless $is_killing;
    }
}

# Keepers of runs that this one started are its children and none of its own: the finaliser sees to them. Each is noted
# with its start time before it starts anything.
sub own_children { return grep { !is_spared($_) } children_of($$); }
sub is_spared {
    my $ENOENT = 2;
    # A note that is there and cannot be read now spares too: the finaliser, which can ask the store, sees to that one.
    my $path = in_run("children/$_[0]");
    # To open a pipe may take for ever.
    stat $path or return $! != $ENOENT;
    return 1 unless -f _;
    open my $note, '<', $path or return $! != $ENOENT;
    $! = 0;
    my $line = <$note>;
    return $! != 0 unless defined $line;
    my ($start) = split ' ', $line;
    return defined $start && $start eq start_of($_[0]);
}
# Each thread has a list of its own.
sub children_of {
    opendir my $threads, "/proc/$_[0]/task" or return;
    return map { split ' ', slurp("/proc/$_[0]/task/$_/children") } grep { /^\d+$/ } readdir $threads;
}
sub descendants { return map { ($_, descendants($_)) } grep { !is_spared($_) } children_of($_[0]); }

# A few names tell enough, and the record has to fit into one argument of the finaliser.
sub named_leftovers {
    my @all = own_children();
    my @names = map { name_of($_) . " (pid $_)" } splice @all, 0, $MAX_NAMED;
    push @names, 'and ' . @all . ' more' if @all;
    return join ',', map { '"' . escaped($_) . '"' } @names;
}

sub name_of {
    my $name = slurp("/proc/$_[0]/comm");
    $name =~ s/\s+$//;
    return $name;
}

sub write_file {
    my ($name, $text) = @_;
    my ($temporary, $path) = (in_run(".$name.$$"), in_run($name));
    open my $file, '>', $temporary or return 0;
    my $written = print $file $text;
    select((select($file), $| = 1)[0]);
    syscall($fsync, fileno $file) if $fsync && $written;
    $written = close($file) && $written;
    return 1 if $written && rename $temporary, $path;
    unlink $temporary;
    return 0;
}

sub finalise {
    my ($record) = @_; # Handed on as well, for a harness may have removed the directory it was written to.
    # What is held stays held, and the finaliser lets go of it when the outcome is on record.
    my $F_SETFD = 2;
    fcntl $_, $F_SETFD, 0 for values %held;
    # In the middle of an update it is away for a moment. Not a word of it may get into the harness's output.
    my $is_away = sub { $finaliser[1] =~ m{^/} && !-e $finaliser[1] };
    for (1 .. $FINALISER_TRIES) { last unless $is_away->(); sleep 1; }
    exit 1 if $is_away->();
    open $_, '>', '/dev/null' for *STDOUT, *STDERR;
    $ENV{REEVE_HELD} = join "\n", map { fileno($held{$_}) . " $_" } keys %held;
    exec { $finaliser[0] } @finaliser, $record;
    exit 1; # The record is on disk: the next reader finalises from it.
}

# The program text used only until here need not stay resident for the days that a run may take. Only what the kernel can
# read from the file again: a page that differs from it (the linker has written to some) would come back as it was in the
# file, and kill this process. Whether it is this one's alone does not matter, for a page counts as shared as long as
# anybody looks into what the harness was before it was executed.
sub give_back_memory {
    return unless $madvise && open my $maps, '<', '/proc/self/smaps';
    my ($from, $length, $is_file, $own);
    while (my $line = <$maps>) {
        if ($line =~ /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \d+\s*(\/.*)?$/) {
            ($from, $length, $is_file, $own) = (hex $1, hex($2) - hex($1), defined $3, undef);
        } elsif ($line =~ /^[0-9a-f]+-/) {
            $is_file = 0;
        } elsif ($line =~ /^Anonymous:\s+(\d+)/) {
            $own = $1;
        } elsif ($line =~ /^Swap:\s+(\d+)/ && $is_file && defined $own && $own + $1 == 0) {
            syscall($madvise, $from, $length, $MADV_DONTNEED);
        }
    }
}

sub oom_kills {
    return slurp('/proc/vmstat') =~ /^oom_kill (\d+)$/m ? $1 : undef;
}

sub first_word { return (split ' ', slurp($_[0]))[0] // ''; }

sub slurp {
    open my $file, '<', $_[0] or return '';
    local $/;
    return <$file> // '';
}

sub read_all {
    open my $file, '<&=', $_[0] or return '';
    binmode $file;
    local $/;
    return <$file> // '';
}

sub escaped {
    my ($text) = @_;
    $text =~ s/([\\"])/\\$1/g;
    $text =~ tr/\x00-\x1f/ /;
    return $text;
}

# Tests stop or kill the keeper at a named step: REEVE_CHECKPOINT="name=kill" or "name=wait:/file".
sub checkpoint {
    my ($wanted, $action) = split /=/, $ENV{REEVE_CHECKPOINT} // '', 2;
    return unless defined $action && $wanted eq $_[0];
    kill 'KILL', $$ if $action eq 'kill';
    if ($action =~ /^wait:(.*)/) {
        open my $reached, '>', "$1.reached";
        select undef, undef, undef, 0.005 until -e $1;
    }
}
