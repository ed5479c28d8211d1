"""Stop words by language.

The lists were written for captions: articles, pronouns, prepositions, conjunctions and auxiliary
verbs. Unlike most lists, they have no noun, number, color or direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_ENGLISH = """
a about above across after again against all along also am among an and another any are around as
at be because been before behind being below beneath beside between beyond both but by can could
did do does doing down during each either every few for from further had has have having he her
here hers herself him himself his how i if in inside into is it its itself just me more most my
myself near neither next no nor not of off on onto or other our ours ourselves out outside over
own same she should so some such than that the their theirs them themselves then there these they
this those through to together too toward towards under until up upon us very was we were what
when where which while who whom whose why will with within without would you your yours yourself
yourselves
"""
_CHINESE = """
的 地 得 了 着 过 在 和 与 及 或 或者 并 并且 而 而且 但 但是 是 有 被 把 将 给 让 从 向 往 对
对着 于 以 为 为了 用 跟 同 由 到 里 中 之 其 这 那 这个 那个 这些 那些 他 她 它 他们 她们 它们
他的 她的 我 我们 你 你们 自己 也 都 就 还 又 很 正在 正 一个 一只 一名 一位 一些 个 只 名 位 们
所 吗 呢 吧 啊 不 没 没有 因为 所以 如果 时 似乎 可以 能 会 要
"""
_CZECH = """
a aby ale ani ano asi až bez by byl byla byli bylo byly být co což či do ho i já jak jako je jeho
jej její jejich jemu jen ještě jež ji jí jím jimi jiné jiný jsem jsi jsme jsou jste k kde kdo kdy
když ke která které kterou který kteří ku má mají mezi mi mít mně mnou mu my na nad nám námi nás
náš ne nebo něco nějaká nějaké nějaký není než nic o od ode on ona oni ono ony pak po pod podle
pro proč proti proto protože před přes při s sama samo samý se si skrz sobě sobou své svou svůj
svých svým ta tak také takže tam tato té tedy ten tento ti to toho tohoto tom tomto tomu toto tu
tuto ty tyto u už v ve vedle však všechno všichni vy z za zda zde ze že
"""
_DANISH = """
af alle andet at bag bare begge blev blive bliver da de dem den denne der deres det dette dig din
dine disse dit du efter ej eller en end er et foran for fra ham han hans har havde have hen hende
hendes her hos hun hvad hver hvilken hvis hvor hvordan hvori i igennem ikke imellem ind inde jeg
jer jeres kan kunne langs man med mellem men mens mig min mine mit mod må ned nede nogen noget
nogle nok nu når og også om omkring op oppe os over på samt selv sig sin sine sit skal skulle som
så sådan til ud ude uden under var ved vi vil ville vor vores være været
"""
_DUTCH = """
aan achter al alle als bij binnen buiten daar dan dat de deze die dit doen door dus een elk elke
en er ervan gaan ge had hadden heb hebben heeft hem hen het hier hij hoe hun ieder iedere iemand
iets ik in is ja je jij jou jouw jullie kan kunnen langs maar me men met mij mijn moet moeten naar
naast nabij niet niets nog nu of om omdat onder ons onze ook op over samen sinds te tegen terwijl
tijdens toe toen tot tussen u uit uw van vanaf vanuit via voor voorbij waar waarin waarop wanneer
was wat we welke werd werden wie wij word worden wordt zal ze zich zij zijn zo zoals zonder zou
zouden
"""
_FRENCH = """
a afin ai alors après as au aucun aucune aussi autour autre autres aux avaient avait avant avec
avoir ayant c ça car ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme
contre d dans de depuis derrière des dès devant donc dont du durant elle elles en encore entre
envers es est et étaient étais était étant été être eu eux furent fut hors ici il ils j je jusqu
jusque l la là le lequel les leur leurs lors lorsque lui m ma mais me même mêmes mes moi mon n ne
ni non nos notre nous on ont or ou où par parmi pas pendant peu plus plusieurs pour puis puisque
qu quand que quel quelle quelles quelqu quelque quelques quels qui quoi s sa sans se selon sera
seront ses si soi soit son sont sous sur t ta tandis te tes toi ton tous tout toute toutes très tu
un une vers voici voilà vos votre vous y
"""
_GERMAN = """
aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf
aus außer bei beide beiden beim bevor bin bis bist da dabei damit dann daran darauf darin darüber
darunter das dass dein deine dem den denen denn der deren des dessen dich die dies diese diesem
diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige einigen
einiger einiges entlang er es etwas euch euer für gegen gegenüber gerade habe haben hat hatte
hatten hier hinein hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in innerhalb ins
irgendein ist jede jedem jeden jeder jedes jemand jene jenem jenen jener jenes kann kein keine
keinem keinen keiner keines können man manche mehrere mehreren mein meine mich mir mit nach
nachdem neben nicht nichts noch nun nur ob oberhalb oder ohne schon sehr sein seine seinem seinen
seiner seines seit selbst sich sie sind so solche sondern sowie über um und uns unser unsere unter
unterhalb vom von vor während war waren was weil welche welchem welchen welcher welches wenn wer
werden wie wieder wir wird wo worden wurde wurden zu zum zur zwischen
"""
_ITALIAN = """
a ad agli ai al alcune alcuni alla alle allo altra altre altri altro anche ancora avanti avere
aveva avevano avuto c che chi ci circa col come con contro cosa così cui d da dagli dai dal dalla
dalle dallo davanti degli dei del dell della delle dello dentro di dietro dopo dove dunque durante
e ed era erano essa esse essendo essere essi esso fra fuori gli ha hanno ho i il in insieme
intorno io l la le lei li lo loro lui lungo ma me mentre mi mia mie miei mio molto negli nei nel
nell nella nelle nello nessun nessuno noi non nostra nostro o ogni oppure ora per però perché più
poi presso prima può qualche quale quali quando quanto quella quelle quelli quello quei questa
queste questi questo qui s se senza si sia sono sopra sotto stanno stata state stati stato sta su
sua sue sugli sui sul sull sulla sulle sullo suo suoi te ti tra tu tua tuo tutta tutte tutti tutto
un una uno verso vi vicino voi
"""
_JAPANESE = """
が の を に は へ と で も や か ね よ な て た だ から まで より など ので のに けど ながら たり
し れ れる られ られる い いる ます です ました でし ある あり おり ない なかっ さ せ する して
この その あの どの これ それ あれ ここ そこ あそこ こと もの ため よう そう という として による
について そして また しかし 彼 彼女 彼ら 私 自分 何 誰
"""
_NORWEGIAN = """
alle at av bak bare begge ble bli blir blitt både da de deg dem den denne der dere deres det dette
din dine disse ditt du eller en er et etter for foran fordi fra gjennom ha hadde han hans har
hennes henne her hos hun hva hver hvilken hvis hvor hvordan i ikke inn inne jeg kan kunne langs
man med meg mellom men mens mer min mine mitt mot må ned nede noe noen nok nå når og også om
omkring opp oppe oss over på rundt seg selv sin sine sitt skal skulle slik som så til under ut ute
uten var ved vi vil ville vår våre være vært
"""
_POLISH = """
a aby albo ale ani aż bez bo by był była było były być ci co coś czy do dla dlaczego dlatego gdy
gdyż gdzie go i ich ile im inna inne inny inni iż ja jak jakaś jakby jaki jakiś jako je jednak
jego jej jemu jest jestem jeszcze jeśli jeżeli już każda każde każdy kiedy kilka kto która które
którego której który których którym którzy ku ma mają mi mimo między mną mnie móc może można mu my
na nad nam nami nas nasz nasza nasze nią nic nich nie niego niej niemu nim nimi niż no o obok od
oraz on ona one oni ono po pod podczas pomiędzy ponad ponieważ poza przed przez przy są sam się
sobą sobie swoja swoje swoją swojej swój ta tak taka takie taki także tam te tego tej temu ten to
tobie tu tuż ty tych tylko tym u w we więc wokół wszyscy wszystkie wszystko wzdłuż z za zaś ze że
żeby
"""
_PORTUGUESE = """
a à alguém algum alguma algumas alguns antes ante ao aos após aquela aquelas aquele aqueles aquilo
as às até atrás através cada com como contra da daquela daquele das de dela delas dele deles
dentro depois desde dessa desse desta deste diante do dos durante e é ela elas ele eles em
enquanto entre era eram essa essas esse esses esta está estão estar estas estava estavam este
estes eu foi for fora foram há isso isto já junto lhe lhes mais mas me mesma mesmo meu meus minha
minhas muito na nas nela nele nem nenhum nenhuma nessa nesse nesta neste no nos nossa nosso num
numa não nós o onde os ou outra outras outro outros para pela pelas pelo pelos per perto por
porque pra quais qual qualquer quando quanto que quem se seja sem sendo ser será seu seus si sido
sob sobre sua suas são só também te tem têm tendo ter teu tinha tinham toda todas todo todos tu
tua um uma umas uns vários você vocês vos
"""
_RUSSIAN = """
а без более бы был была были было быть в вам вас ведь весь во вокруг вот все всё всего всей всем
всех вы где да даже для до его ее её ей ему если есть еще ещё ею же за здесь и из или им ими их к
как какая какой когда кого которая которого которое которой котором которую которые который
которых которым кто ко куда ли лишь между меня мне много можно мой моя мы на над нам нами нас наш
него нее неё ней нем нём нет ни ним ними них но ну о об оба обе около он она они оно от перед по
под после потом почти при про рядом с сам сама само сами свое своё своего своей своем своём своему
своими свои своих свой свою своя себе себя со собой среди так такая также такие такой там тебя тем
теми то тоже той только том тот того ту тут ты у уже чего чем через что чтобы эта эти этим этих
это этого этой этом этот эту я
"""
_SPANISH = """
a al alguien algún alguna algunas alguno algunos ante antes aquel aquella aquellas aquello
aquellos aquí así aun aunque bajo cada casi como con contra cual cuales cualquier cuando cuyo de
del delante dentro desde después detrás donde durante e el él ella ellas ello ellos en encima
entre era eran es esa esas ese eso esos esta está están estar estas este esto estos estaba estaban
fue fueron ha había habían hacia han hasta hay junto la las le les lo los más me mediante mi
mientras mis mismo misma mucho muy nada ni ningún ninguna no nos nosotros nuestra nuestro o os
otra otras otro otros para pero por porque pues que qué quien quienes se según ser si sí sido
siendo sin sino sobre son su sus también tan te tener tiene tienen todo toda todas todos tras tu
tus tú u un una unas uno unos usted varias varios y ya yo
"""
_SWEDISH = """
alla allt annan annat att av bakom bara blev bli blir bland båda de dem den denna dess dessa det
detta dig din dina ditt dock du då där efter ej eller en er ert ett framför från för genom ha hade
han hans har henne hennes hon honom hos hur här i in inne inte jag kan kring kunde längs man med
medan mellan men mer mig min mina mitt mot mycket ned nere ni nu någon något några när och också
om omkring oss på runt samma sedan sig sin sina sitt ska skall skulle som så sådan till under upp
uppe ur ut ute utan utanför vad var vara varit varje vars vem vi vid vilka vilken vill är åt över
"""

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "english": frozenset(_ENGLISH.split()),
        "chinese": frozenset(_CHINESE.split()),
        "czech": frozenset(_CZECH.split()),
        "danish": frozenset(_DANISH.split()),
        "dutch": frozenset(_DUTCH.split()),
        "french": frozenset(_FRENCH.split()),
        "german": frozenset(_GERMAN.split()),
        "italian": frozenset(_ITALIAN.split()),
        "japanese": frozenset(_JAPANESE.split()),
        "norwegian": frozenset(_NORWEGIAN.split()),
        "polish": frozenset(_POLISH.split()),
        "portuguese": frozenset(_PORTUGUESE.split()),
        "russian": frozenset(_RUSSIAN.split()),
        "spanish": frozenset(_SPANISH.split()),
        "swedish": frozenset(_SWEDISH.split()),
    }
)
"""Stop words by the language's name in lower case."""
